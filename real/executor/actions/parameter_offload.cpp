// real/executor/actions/parameter_offload.cpp -- shards of parameters that are kept on the host (core/plan/offload.h):
// they come in front of their gather, or instead of it where a rank has no others to gather from.
// SPDX-License-Identifier: Apache-2.0
#include "core/plan/states.h"
#include "core/plan/units.h"
#include "real/executor/actions/host_states.h"

namespace real {

std::vector<Parameter*> unit_of(Task& task) {
  const plan::Chunk& chunk = task.rank.chunks[task.site.chunk];
  const plan::UnitCut cut(task.c, chunk);
  const auto number = [&](int layer) { return layer < 0 ? -1 : cut.of(layer - chunk.first_layer); };
  std::vector<Parameter*> out;
  for (const Unit& unit : task.rank.parameters.units(task.site.chunk)) {
    if (number(unit.layer) != number(task.op.layer)) continue;
    out.insert(out.end(), unit.parameters.begin(), unit.parameters.end());
  }
  return out;
}

namespace {

Value& on_host(const Task& task, Parameter& p) {
  return p.frozen || !plan::shards_masters(task.c) ? p.host_shard : p.master;
}

/// Alone the copy brings the whole parameter.
void bring_whole(Task& task, Parameter& p, const Tensor& from) {
  const Tensor weight = task.renew(p.weight, p.count(), kWeight);
  if (from.meaning == weight.meaning) return task.backend.to_device(from, weight);
  const Tensor wide = task.backend.allocate(p.count(), {from.meaning, plan::Category::communication});
  task.backend.to_device(from, wide);
  task.backend.copy(wide, weight);
}

void to_device(Task& task) {
  GatheredUnit& unit = task.rank.gathered[{task.site.chunk, task.op.layer}];
  for (Parameter* p : unit_of(task)) {
    const Tensor from = task.read(on_host(task, *p), p->name);
    if (p->sharded) {
      const Purpose purpose{from.meaning, plan::Category::communication};
      task.backend.to_device(from, task.renew(p->shard, p->owned.length, purpose));
    } else {
      bring_whole(task, *p, from);
      unit.bytes += p->count() * task.c.element;
      unit.parameters.push_back(p);
    }
    if (task.c.strategy.offload.parameters_on_drives()) p->host_shard = {};
  }
}

/// Behind an update on the device.
void updated_to_host(Task& task) {
  for (Parameter* p : task.rank.parameters.trained()) {
    const Tensor narrow = task.backend.allocate(p->owned.length, kWeight);
    task.backend.copy(task.read(p->master, p->name), narrow);
    task.set(p->host_shard, task.backend.to_host(narrow));
  }
}

}  // namespace

void add_parameter_offload_actions(Actions& actions) {
  actions["parameters to device"] = to_device;
  actions["updated parameters to host"] = updated_to_host;
}

}  // namespace real
