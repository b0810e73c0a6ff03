// real/executor/gradients.h -- gradients of tensors that several operators read: each reader leaves its own part,
// whoever needs the gradient adds them up. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "real/executor/task.h"

namespace real {

/// Where the gradient of tensor `of` that comes through its reader `by` is kept.
inline std::string gradient_name(std::string_view of, std::string_view by) {
  return "d " + std::string(of) + " by " + std::string(by);
}

/// The gradient of this layer's tensor `of`: all that its readers left.
Tensor whole_gradient(Task&, std::string_view of);

/// Throws std::logic_error unless the Plan's work has the size that the tensors have.
void expect(const Task&, std::string_view what, std::int64_t of_plan, std::int64_t of_tensors);
/// The same of the bytes of a collective over numbers of `element` bytes.
void expect_bytes(const Task&, std::int64_t elements, std::int64_t element);

}  // namespace real
