// tests/real/executor/fp8_model.h -- a step with matmuls in fp8, forward and backward straight from the
// formulas: numbers on a tape, no kernel, Plan or executor, and a rounding of its own. What the executor's gradients
// are checked against, for those of a quantised model are no derivatives.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>

#include "tests/real/executor/reference_model.h"

namespace fp8_model {

using Magnitudes = std::map<std::string, double>;  // by operand and part: "0 qkv input 0"

struct Recipe {
  int first_wide = 0, last_wide = 0;  // layers that stay in 16 bits
  /// Delayed scaling: the largest magnitudes of the step before; 0 where nothing was seen. None: each tensor's own.
  std::optional<Magnitudes> before = {};
  int tp = 1;              // tensor-parallel ranks, each of which scales its part of a tensor
  bool shards = false;     // sequence parallel: also of what no rank gathers
  std::size_t block = 0;   // not 0: a power of two for every so many numbers along what a matmul sums
  std::size_t square = 0;  // not 0: and of weights for every square of so many
};

struct Step {
  double loss = 0;  // mean over all tokens
  reference_model::Parameters gradients;
  Magnitudes largest;  // of all sequences
};

/// Each sequence is a microbatch of its own. REQUIRES: RMSNorm, rotary embedding, SwiGLU, no biases, a head of its own;
/// latent attention, experts and adapters as the model and the parameters have them.
Step step(const spec::Model&, const reference_model::Parameters&,
          const std::vector<std::vector<std::int32_t>>& sequences, const Recipe&);

}  // namespace fp8_model
