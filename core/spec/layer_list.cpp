// SPDX-License-Identifier: Apache-2.0
#include "core/spec/layer_list.h"

namespace spec {

using T = Layer::Type;

std::int64_t Layer::out_size() const {
  switch (type) {
    case T::convolution:
    case T::max_pool:
    case T::average_pool: return (size + 2 * padding - kernel) / stride + 1;
    case T::upsample: return size * stride;
    default: return size;
  }
}

std::int64_t Layer::parameters() const {
  switch (type) {
    case T::convolution: return out * (in / groups) * kernel * kernel + (bias ? out : 0);
    case T::dense: return in * out + (bias ? out : 0);
    case T::batchnorm:
    case T::groupnorm: return 2 * out;
    case T::embedding_bag: return rows * out;
    default: return 0;
  }
}

double Layer::multiply_adds() const {
  const double positions = static_cast<double>(out_size()) * static_cast<double>(out_size());
  switch (type) {
    case T::convolution:
      return positions * static_cast<double>(out) * static_cast<double>(in / groups) * static_cast<double>(kernel) *
             static_cast<double>(kernel);
    case T::dense: return positions * static_cast<double>(in) * static_cast<double>(out);
    case T::attention: return 2 * positions * positions * static_cast<double>(out);
    case T::interaction: return static_cast<double>(in) * static_cast<double>(features);
    default: return 0;
  }
}

bool Layer::keeps_input() const {
  switch (type) {
    case T::convolution:
    case T::dense:
    case T::batchnorm:
    case T::groupnorm:
    case T::activation:
    case T::max_pool:
    case T::attention:
    case T::interaction: return true;
    default: return false;
  }
}

LayerListTotals totals(const std::vector<Layer>& layers) {
  LayerListTotals out;
  for (const Layer& layer : layers) {
    (layer.type == T::embedding_bag ? out.table_parameters : out.dense_parameters) += layer.parameters();
    out.multiply_adds += layer.multiply_adds();
  }
  return out;
}

}  // namespace spec
