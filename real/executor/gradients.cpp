// SPDX-License-Identifier: Apache-2.0
#include "real/executor/gradients.h"

#include <fmt/format.h>

#include <stdexcept>

namespace real {

Tensor whole_gradient(Task& task, std::string_view of) {
  const std::string prefix = gradient_name(of, "");
  Tensor sum;
  bool own = false;
  for (const std::string& name : task.rank.values.names(task.site, prefix)) {
    const Tensor part = task.read(name);
    if (!sum) {
      sum = part;
      continue;
    }
    if (!own) {
      const Tensor fresh = task.backend.allocate(sum.count);
      task.backend.copy(sum, fresh);
      sum = fresh;
      own = true;
    }
    task.backend.add(part, sum);
  }
  if (!sum) throw std::logic_error(fmt::format("'{}': nothing has left a gradient of '{}'", task.name, of));
  return sum;
}

void expect(const Task& task, std::string_view what, std::int64_t of_plan, std::int64_t of_tensors) {
  if (of_plan == of_tensors) return;
  throw std::logic_error(fmt::format("{}: {} {} in the Plan, but {} in its tensors",
                                     describe(task.rank, task.rank.order.now().by), of_plan, what, of_tensors));
}

void expect_bytes(const Task& task, std::int64_t elements, std::int64_t element) {
  expect(task, "bytes", task.work<plan::Collective>().bytes, elements * element);
}

}  // namespace real
