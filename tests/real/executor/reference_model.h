// tests/real/executor/reference_model.h -- a transformer's loss straight from its formulas, token by token, with no
// kernel, Plan or executor: what the executor on one rank is checked against.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/spec/model.h"

namespace reference_model {

/// Matrices [out, in], row by row, by layer (-1: at an end of the model) and name ("qkv.weight").
using Parameters = std::map<std::pair<int, std::string>, std::vector<double>>;

/// Of the first step: the sequences count from 0.
struct Dropout {
  double probability = 0;
  std::uint64_t seed = 0;  // of the training
};

/// An expert takes, of `shard` tokens one behind the other, ceil(factor shard top_k / experts): those with the largest
/// weights. What it does not take adds nothing to its token.
struct Capacity {
  double factor = 0;  // 0: experts take all
  std::size_t shard = 0;
};

/// Of each sequence, of each token, where its document begins: it sees none before, and is placed from there. Empty: 0.
using Documents = std::vector<std::vector<std::size_t>>;

/// Of the mean loss of the modules of multi-token prediction.
inline constexpr double kMultiTokenWeight = 0.3;

/// Mean cross entropy, in nats, of predicting each sequence's tokens 1, 2, ... from those before; and of the tokens
/// behind them by modules of multi-token prediction, for which as many tokens as there are modules end a sequence.
double loss(const spec::Model&, const Parameters&, const std::vector<std::vector<std::int32_t>>& sequences,
            const Dropout& = {}, const Capacity& = {}, const Documents& = {});

}  // namespace reference_model
