// real/executor/actions/edges.cpp -- activations and gradients between pipeline stages. Where the framework scatters
// them, a tensor-parallel rank sends its share alone and an all-gather behind the receive restores them.
// SPDX-License-Identifier: Apache-2.0
#include "real/executor/actions.h"
#include "real/executor/gradients.h"

namespace real {
namespace {

std::int64_t stream_count(const Task& task) { return task.c.shard_tokens * task.c.hidden; }

std::int64_t sent_count(const Task& task) { return stream_count(task) / (task.c.scatter_gather ? task.c.tp : 1); }

void expect_transfer(const Task& task) {
  expect(task, "bytes", task.work<plan::Transfer>().bytes, sent_count(task) * task.c.element);
}

void send(Task& task, const Tensor& whole) {
  expect_transfer(task);
  const std::int64_t count = sent_count(task);
  const Tensor sent = task.c.scatter_gather ? whole.part(task.rank.place.tp() * count, count) : whole;
  task.backend.send(task.rank.place.neighbour(task.rank.plan.channels[task.op.channel].to), task.op.channel, sent);
}

const char* flowing(const Task& task) { return task.forward() ? "stream" : "gradient stream"; }

void receive(Task& task) {
  expect_transfer(task);
  const char* name = task.c.scatter_gather ? "received" : flowing(task);
  const Tensor x = task.make_at(task.ends(), name, sent_count(task));
  task.backend.receive(task.rank.place.neighbour(task.rank.plan.channels[task.op.channel].from), task.op.channel, x);
}

void restore(Task& task) {
  const Tensor piece = task.read_at(task.ends(), "received");
  const Tensor whole = task.make_at(task.ends(), flowing(task), stream_count(task));
  expect_bytes(task, whole.count, task.c.element);
  task.backend.all_gather(task.group(), piece, whole);
}

}  // namespace

void add_edge_actions(Actions& actions) {
  actions["send activations"] = [](Task& t) { send(t, t.stream()); };
  actions["send gradient"] = [](Task& t) { send(t, t.gradient_stream()); };
  actions["receive activations"] = receive;
  actions["receive gradient"] = receive;
  actions["restore activations all-gather"] = restore;
}

}  // namespace real
