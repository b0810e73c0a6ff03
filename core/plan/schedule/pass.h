// core/plan/schedule/pass.h -- what a stage does with a microbatch.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace plan {

/// What is done with a microbatch in a chunk. A backward is whole, or in two parts: the gradient of the input, for
/// which the stage before waits, and the gradients of the weights, for which only the optimizer does. Overlapped: the
/// forward of one microbatch and the whole backward of another, kernel beside communication. The last four are of the
/// shares of embedding and head that every stage has (vocabulary.h): rows looked up before the first stage's forward,
/// logits behind the last stage's, their gradient in front of its backward (the paper's S and T), and the gradient of
/// the rows behind the first stage's.
enum class Pass : std::uint8_t {
  forward,
  backward,
  input_gradient,
  weight_gradient,
  overlapped,
  look_up,
  logits,
  logits_gradient,
  rows_gradient
};
constexpr bool of_vocabulary(Pass pass) { return pass >= Pass::look_up; }

}  // namespace plan
