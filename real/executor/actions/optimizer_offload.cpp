// real/executor/actions/optimizer_offload.cpp -- masters and moments in the host's memory (core/plan/offload.h):
// gradients follow their reduction there, the host updates, new weights come back.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "core/plan/offload.h"
#include "core/plan/states.h"
#include "real/executor/actions/host_states.h"
#include "real/executor/actions/step.h"
#include "real/executor/flat_order.h"

namespace real {
namespace {

const std::vector<plan::Operator>& segment_of(const Task& task) {
  return task.rank.plan.segments[task.call.segment].operators;
}

int count_in_segment(const Task& task, std::string_view name) {
  return static_cast<int>(std::ranges::count_if(
      segment_of(task), [&](const plan::Operator& op) { return task.rank.plan.names[op.name] == name; }));
}

/// Whether a sum of earlier microbatches, which this gradient joins, is on the host.
bool joins_sum(const Task& task) {
  const std::size_t next = static_cast<std::size_t>(&task.op - segment_of(task).data()) + 1;
  return next < segment_of(task).size() && task.rank.plan.names[segment_of(task)[next].name] == "gradient sum on host";
}

bool in_tiles(const Task& task) { return task.c.job.framework.optimizer_tile.si() > 0; }

void norm_as_it_leaves(Task& task, Parameter& p, const Tensor& gradient) {
  if (!in_tiles(task)) return;
  const Tensor sum = task.renew(p.left_norm, 1, kSum);
  task.backend.fill(sum, 0);
  if (const std::int64_t length = counted_elements(task, p); length > 0) {
    task.backend.squared_norm(gradient.part(0, length), sum);
  }
}

/// The next microbatch begins a gradient of its own, if it is not summed on the device.
void has_left(Task& task, Parameter& p) {
  if (task.c.scatters_gradients && !p.reduced_apart) p.gradient = {};
}

/// Zero, where it has left already: a norm's, which the pass of the inputs makes, goes with the weight gradients of an
/// earlier microbatch that run behind it.
Tensor local_gradient(Task& task, Parameter& p) {
  return p.final_gradient() ? task.read(p.final_gradient(), p.name) : task.gradient(p);
}

void gradients_to_host(Task& task) {
  const bool joins = joins_sum(task);
  for (Parameter* p : leaving(task)) {
    const Tensor gradient = local_gradient(task, *p);
    if (!joins) norm_as_it_leaves(task, *p, gradient);
    const Tensor host = task.backend.to_host(gradient);
    task.set(joins ? p->arrived : p->host_gradient, host);
    has_left(task, *p);
  }
  task.rank.left = *task.rank.summed;
  if (!joins) task.rank.summed.reset();
}

void sum_on_host(Task& task) {
  for (Parameter* p : *task.rank.summed) {
    task.backend.host_add(task.read(p->arrived, p->name), task.write(p->host_gradient, p->name));
    p->arrived = {};
  }
  task.rank.summed.reset();
}

void sum_to_device(Task& task) {
  for (Parameter* p : leaving(task)) {
    const Tensor sum = task.renew(p->arrived, p->owned.length, kGradient);
    task.backend.to_device(task.read(p->host_gradient, p->name), sum);
  }
}

void add_to_sum(Task& task) {
  for (Parameter* p : *task.rank.summed) {
    task.backend.add(local_gradient(task, *p), task.write(p->arrived, p->name));
    has_left(task, *p);
  }
}

void sum_to_host(Task& task) {
  for (Parameter* p : *task.rank.summed) {
    const Tensor sum = task.read(p->arrived, p->name);
    norm_as_it_leaves(task, *p, sum);
    task.set(p->host_gradient, task.backend.to_host(sum));
    p->arrived = {};
  }
  task.rank.left = *task.rank.summed;
  task.rank.summed.reset();
}

/// On the host, then to where ranks add theirs.
void norm_on_host(Task& task) {
  const Tensor sum = task.renew(task.rank.norm, 1, kSum);
  task.backend.fill(sum, 0);
  const Tensor host = task.backend.to_host(sum);
  for (Parameter* p : task.rank.parameters.trained()) {
    const std::int64_t length = counted_elements(task, *p);
    if (length > 0) task.backend.host_squared_norm(task.read(p->host_gradient, p->name).part(0, length), host);
  }
  task.backend.to_device(host, sum);
}

/// A framework with tiles has no operator for the norm.
void norm_of_what_left(Task& task) {
  const Tensor sum = task.renew(task.rank.norm, 1, kSum);
  task.backend.fill(sum, 0);
  for (Parameter* p : task.rank.parameters.trained()) task.backend.add(task.read(p->left_norm, p->name), sum);
}

void gradients_awaited(Task& task) {
  if (in_tiles(task)) norm_of_what_left(task);
  task.backend.host_waits();
  task.rank.order.host_waits();
}

void clip(Task& task, const std::vector<Parameter*>& parameters) {
  const Tensor norm = task.read(task.rank.norm, "gradient norm"), factor = task.backend.allocate(1, kNumbers);
  task.backend.clip_factor(norm, largest_norm(task), factor);
  const double by = task.backend.download(factor).front();
  for (Parameter* p : parameters) {
    const Tensor gradient = task.write(p->host_gradient, p->name);
    if (task.rank.settings.keeps_gradients) {
      task.rank.kept_gradients[{p->layer, p->name}] = task.backend.download(gradient);
    }
    task.backend.host_scale(by, gradient);
  }
}

void optimizer_on_host(Task& task) {
  const bool drives = task.c.strategy.offload.states_on_drives();
  const std::vector<Parameter*> tile = next_tile(task);
  if (in_tiles(task)) clip(task, tile);
  for (Parameter* p : tile) {
    update_parameter_on_host(task, *p);
    if (!plan::shards_masters(task.c)) {
      task.set(p->host_shard, task.backend.host_copy(p->master.tensor, Meaning::activation));
    }
    if (drives) p->host_gradient = {};
  }
}

void updated_to_device(Task& task) {
  for (Parameter* p : next_tile(task)) {
    const Tensor narrow = task.read(p->host_shard, p->name);
    task.backend.to_device(narrow, p->sharded ? task.write(p->shard, p->name) : task.write(p->weight, p->name));
    if (p->sharded && task.c.fully_sharded) p->weight = {};  // whoever reads it next gathers it
    p->host_shard = {};
  }
}

}  // namespace

std::vector<Parameter*> leaving(Task& task) {
  if (!task.rank.summed) {
    const std::int64_t elements = task.work<plan::RatedCopy>().bytes / plan::owned_gradient_element(task.c);
    task.rank.summed = next_uncarried_gradients(task, elements);
  }
  return *task.rank.summed;
}

std::vector<Parameter*> next_tile(Task& task) {
  const std::int64_t count = count_in_segment(task, task.name), i = task.next_piece(1, count);
  const std::vector<Parameter*> all = task.rank.parameters.trained();
  const auto at = [&](std::int64_t n) { return all.begin() + n * static_cast<std::int64_t>(all.size()) / count; };
  return {at(i), at(i + 1)};
}

void add_optimizer_offload_actions(Actions& actions) {
  actions["gradients to host"] = gradients_to_host;
  actions["gradient sum on host"] = sum_on_host;
  actions["gradient sum awaited"] = [](Task& t) {
    t.backend.host_waits();
    t.rank.order.host_waits();
  };
  actions["gradient sum to device"] = sum_to_device;
  actions["gradient sum"] = add_to_sum;
  actions["gradient sum to host"] = sum_to_host;
  actions["gradient norm on host"] = norm_on_host;
  actions["gradients awaited by the host"] = gradients_awaited;
  actions["clip gradients on host"] = [](Task& t) { clip(t, t.rank.parameters.trained()); };
  actions["optimizer on host"] = optimizer_on_host;
  actions["updated parameters to device"] = updated_to_device;
}

}  // namespace real
