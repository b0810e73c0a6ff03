// real/executor/actions/drives.cpp -- what is kept on drives (core/plan/offload.h): gradients, states and shards of
// parameters that leave the host's memory behind their writing and come back in front of their use.
// SPDX-License-Identifier: Apache-2.0
#include "real/executor/actions/host_states.h"

namespace real {
namespace {

void write(Task& task, Value& of_host, Value& there, const std::string& name) {
  task.set(there, task.backend.to_drive(task.read(of_host, name)));
  of_host = {};
}

void read(Task& task, Value& there, Value& of_host, const std::string& name) {
  task.set(of_host, task.backend.from_drive(task.read(there, name)));
}

void write_gradients(Task& task) {
  for (Parameter* p : task.rank.left) write(task, p->host_gradient, p->drives.gradient, p->name);
}

void read_gradient_sum(Task& task) {
  for (Parameter* p : leaving(task)) read(task, p->drives.gradient, p->host_gradient, p->name);
}

void read_states(Task& task) {
  for (Parameter* p : next_tile(task)) {
    read(task, p->drives.gradient, p->host_gradient, p->name);
    read(task, p->drives.master, p->master, p->name);
    read(task, p->drives.m, p->m, p->name);
    if (p->drives.v) read(task, p->drives.v, p->v, p->name);
  }
}

/// States, weights, or both, as either is kept there.
void write_states(Task& task) {
  const spec::Offload& offload = task.c.strategy.offload;
  for (Parameter* p : next_tile(task)) {
    if (offload.parameters_on_drives()) write(task, p->host_shard, p->drives.weight, p->name);
    if (!offload.states_on_drives()) continue;
    write(task, p->master, p->drives.master, p->name);
    write(task, p->m, p->drives.m, p->name);
    if (p->v) write(task, p->v, p->drives.v, p->name);
  }
}

void read_parameters(Task& task) {
  for (Parameter* p : unit_of(task)) read(task, p->drives.weight, p->host_shard, p->name);
}

void write_parameters(Task& task) {
  for (Parameter* p : task.rank.parameters.trained()) write(task, p->host_shard, p->drives.weight, p->name);
}

}  // namespace

void add_drive_actions(Actions& actions) {
  actions["write gradients"] = write_gradients;
  actions["read gradient sum"] = read_gradient_sum;
  actions["read states"] = read_states;
  actions["write states"] = write_states;
  actions["read parameters"] = read_parameters;
  actions["write parameters"] = write_parameters;
}

}  // namespace real
