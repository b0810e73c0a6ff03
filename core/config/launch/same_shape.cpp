// SPDX-License-Identifier: Apache-2.0
#include "core/config/launch/same_shape.h"

namespace config::launch {

bool same_shape(spec::Model a, const spec::Model& b) {
  a.name = b.name;
  a.max_positions = b.max_positions;
  a.qkv_bias = a.has_qkv_bias() == b.has_qkv_bias() ? b.qkv_bias : a.qkv_bias;
  a.proj_bias = a.has_proj_bias() == b.has_proj_bias() ? b.proj_bias : a.proj_bias;
  return a == b;
}

}  // namespace config::launch
