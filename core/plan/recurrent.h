// core/plan/recurrent.h -- a recurrent layer (Mamba-2, gated delta net) between its norm and the residual addition, cut
// as Megatron's MambaMixer and GatedDeltaNet are: one projection in, column parallel by heads; a convolution along the
// sequence; the scan over its chunks; a gated norm; one projection out, row parallel. Context-parallel ranks trade
// tokens for heads in front of the convolution and back behind the norm, so that each scans whole sequences.
// Source: NVIDIA/Megatron-LM megatron/core/ssm (2025). SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

#include "core/plan/builder.h"
#include "core/plan/context.h"
#include "core/plan/tensor_parallel.h"

namespace plan {

/// REQUIRES of all below: Model::recurrent.
Linear recurrent_in(const Context&);
Linear recurrent_out(const Context&);

class RecurrentMixer {
 public:
  RecurrentMixer(const Context&, SegmentBuilder&);
  /// `to_its_end`: with the projection out.
  void forward(bool to_its_end = true);
  void backward();

 private:
  void trade(std::int64_t width, std::string_view name);
  void turn(std::int64_t width, std::string_view name);
  void convolution(bool backward);
  void steps(bool backward);
  void scan(bool backward);
  void gated_norm(bool backward);

  const Context& c_;
  SegmentBuilder& out_;
};

/// Of one layer on one tensor-parallel rank: both matrices; and all that the layer has but its norm in front.
std::int64_t recurrent_matrices(const Context&);
std::int64_t recurrent_parameters(const Context&);
/// What a forward keeps behind the projection in, in bytes.
std::int64_t recurrent_activations(const Context&);

}  // namespace plan
