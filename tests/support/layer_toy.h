// tests/support/layer_toy.h -- small networks that are lists of operators, on the toy's GPUs.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <utility>

#include "tests/support/toy.h"

namespace layer_toy {

/// A 3x3 convolution 3 -> 8 on 16 x 16, a batchnorm with relu, a dense layer 2048 -> 10.
inline std::vector<spec::Layer> classifier() {
  using T = spec::Layer::Type;
  return {{.name = "conv", .type = T::convolution, .in = 3, .out = 8, .size = 16, .kernel = 3, .padding = 1},
          {.name = "norm", .type = T::batchnorm, .in = 8, .out = 8, .size = 16, .relu = true, .reads = 0},
          {.name = "fc", .type = T::dense, .in = 2048, .out = 10, .bias = true, .reads = 1}};
}

inline spec::Job draft(int dp, std::int64_t microbatches, std::int64_t micro_batch) {
  spec::Job j = toy::draft({.dp = dp, .microbatches = microbatches, .micro_batch = micro_batch});
  j.model = {};
  j.model.kind = "layers";
  j.model.list = classifier();
  j.model.layers = 3;
  j.training.sequence = 0;
  return j;
}

inline spec::Job job(int dp, std::int64_t microbatches, std::int64_t micro_batch) {
  return toy::resolved(draft(dp, microbatches, micro_batch));
}

/// Two tables of width 16 and a dense layer 4 -> 16, whose dot products a dense layer 19 -> 1 reads.
inline spec::Job recommender(int dp, std::int64_t micro_batch) {
  using T = spec::Layer::Type;
  spec::Job j = draft(dp, 1, micro_batch);
  j.model.list = {{.name = "table0", .type = T::embedding_bag, .in = 16, .out = 16, .rows = 1000},
                  {.name = "table1", .type = T::embedding_bag, .in = 16, .out = 16, .rows = 500},
                  {.name = "bottom", .type = T::dense, .in = 4, .out = 16, .relu = true, .reads = -1},
                  {.name = "products", .type = T::interaction, .in = 48, .out = 19, .features = 3, .reads = 2},
                  {.name = "top", .type = T::dense, .in = 19, .out = 1, .reads = 3}};
  j.model.layers = 5;
  return toy::resolved(std::move(j));
}

}  // namespace layer_toy
