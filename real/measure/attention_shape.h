// real/measure/attention_shape.h -- a mask said as simply as it can be: libraries take few masks.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/attention.h"

namespace real {

/// The same attention: a causal mask that hides no key is none, a window that holds all keys neither, and an offset
/// means nothing without both and without linear biases.
constexpr kernels::Attention simplest(kernels::Attention a) {
  if (a.causal && a.offset >= a.keys - 1) a.causal = false;
  if (a.window > 0 && a.queries - 1 + a.offset < a.window) a.window = 0;  // the last query, on the first key
  if (!a.causal && a.window == 0 && a.alibi.heads == 0) a.offset = 0;
  return a;
}

}  // namespace real
