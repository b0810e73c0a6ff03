// core/spec/layer_list.h -- a network as a list of operators (model `kind: layers`): convolutional networks, and
// recommendation models with embedding tables. Amounts are of one sample. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace spec {

/// One operator on a feature map of `size` x `size` positions with `in` channels (size 1: a plain vector).
struct Layer {
  enum class Type : std::uint8_t {
    convolution,
    dense,
    batchnorm,
    groupnorm,
    activation,
    max_pool,
    average_pool,
    add,
    concat,
    upsample,
    attention,
    embedding_bag,
    interaction
  };
  std::string name;
  Type type = Type::convolution;
  std::int64_t in = 0, out = 0;  // channels; attention: queries, keys and values side by side, in = 3 out
  std::int64_t size = 1;         // height and width of the input
  std::int64_t kernel = 1, stride = 1, padding = 0, groups = 1;  // upsample: stride is the factor
  bool bias = false, relu = false;
  int heads = 1;                       // attention
  std::int64_t rows = 0, lookups = 1;  // embedding_bag: of the table; rows summed for one sample
  std::int64_t features = 0;           // interaction: vectors whose dot products are taken
  int reads = -1;                      // the layer whose output it reads; -1: the network's input

  std::int64_t out_size() const;
  std::int64_t in_elements() const { return in * size * size; }
  std::int64_t out_elements() const { return out * out_size() * out_size(); }
  std::int64_t parameters() const;
  double multiply_adds() const;
  /// Whether its backward reads the input again.
  bool keeps_input() const;
  bool operator==(const Layer&) const = default;
};
inline constexpr std::array<std::string_view, 13> kLayerTypes{
    "convolution", "dense",  "batchnorm", "groupnorm", "activation",    "max_pool",   "average_pool",
    "add",         "concat", "upsample",  "attention", "embedding_bag", "interaction"};

/// Of all layers; tables apart from what every rank holds.
struct LayerListTotals {
  std::int64_t dense_parameters = 0, table_parameters = 0;
  double multiply_adds = 0;  // of one forward of one sample
};
LayerListTotals totals(const std::vector<Layer>&);

}  // namespace spec
