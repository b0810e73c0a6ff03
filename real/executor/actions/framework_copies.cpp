// real/executor/actions/framework_copies.cpp -- copies that a framework makes because its tensors lie otherwise.
// Kernels and collectives here read them where they lie; the copies are made all the same, between tensors that nobody
// reads, so that the step does what the Plan says. SPDX-License-Identifier: Apache-2.0
#include "real/executor/actions.h"

namespace real {
namespace {

/// Moves the bytes that the Plan says, half of them read. A sum of what came from each rank has been taken by the
/// collective here.
void copied(Task& task) {
  const auto& work = task.work<plan::MemoryBound>();
  const std::int64_t count = (work.read + work.written) / 2 / task.c.element;
  const Tensor from = task.backend.allocate(count), to = task.backend.allocate(count);
  task.backend.copy(from, to);
}

/// Shards of the sequence, which lies behind the batch, before they are scattered or when they are gathered.
bool scatters_or_gathers(const std::string& name) {
  return name.ends_with("reduce-scatter") || name.ends_with("all-gather");
}

}  // namespace

void add_framework_copies(Actions& actions) {
  Actions copies;
  for (const auto& [name, action] : actions) {
    if (scatters_or_gathers(name)) copies[name + " laid out"] = copies[name + " summed"] = copied;
  }
  actions.merge(copies);
  actions["queries, keys and values laid out"] = copied;
  actions["query, key and value gradients joined"] = copied;
  actions["expert up biases added"] = actions["expert down biases added"] = copied;
}

}  // namespace real
