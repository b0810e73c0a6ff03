// SPDX-License-Identifier: Apache-2.0
#include "real/executor/actions/gathered_experts.h"

#include "real/executor/actions/experts.h"
#include "real/executor/gradients.h"

namespace real {
namespace {

/// All tokens of the group, of which this rank's experts have rows.
kernels::Permute gathered_shape(const Task& task) {
  kernels::Permute shape = permute_shape(task);
  const int ranks = task.c.strategy.ep;
  shape.tokens *= ranks;
  shape.held = shape.experts / ranks;
  shape.first = task.rank.place.coordinate(plan::Axis::ep) * shape.held;
  shape.capacity *= ranks;
  return shape;
}

Tensor gather(Task& task, const Tensor& piece, std::string_view name, Purpose purpose = kActivation) {
  const Tensor whole = task.make(name, piece.count * task.c.strategy.ep, purpose);
  task.backend.all_gather(task.group(), piece, whole);
  return whole;
}

Tensor scatter(Task& task, const Tensor& whole, std::string_view name, Purpose purpose = kActivation) {
  const Tensor piece = task.make(name, whole.count / task.c.strategy.ep, purpose);
  task.backend.reduce_scatter(task.group(), whole, piece);
  return piece;
}

}  // namespace

bool gathers_tokens(const Task& task) {
  const spec::Strategy& s = task.c.strategy;
  return s.ep > 1 && s.moe_dispatcher == spec::MoeDispatcher::allgather;
}

void gather_tokens(Task& task) {
  const kernels::Permute shape = gathered_shape(task);
  receive_counts(task);
  Routing& routing = routing_of(task);
  Counts rows(routing.local, 0);  // of all ranks: the permutation puts them in the order of the experts
  for (const Counts& member : routing.received) {
    for (std::int64_t i = 0; i < routing.local; ++i) rows[i] += member[i];
  }
  routing.received = routing.gathered = {rows};
  const Tensor tokens = gather(task, task.read("feed-forward norm"), "gathered tokens");
  expect_bytes(task, tokens.count, task.c.element);
  gather(task, task.read("router weights"), "gathered weights", kStatistic);
  const Tensor experts = gather(task, task.read("router choices"), "gathered choices", kIndices);
  task.backend.permute_plan(shape, experts, task.backend.allocate(shape.experts, kIndices),
                            task.make("gathered rows", experts.count, kIndices));
}

void permute_gathered(Task& task) {
  const kernels::Permute shape = gathered_shape(task);
  const Tensor rows = make_rows(task, "rows", routing_of(task).rows_received());
  task.backend.permute_forward(shape, task.read("gathered rows"), task.read("gathered tokens"), rows);
}

void unpermute_gathered(Task& task) {
  const kernels::Permute shape = gathered_shape(task);
  const Tensor y = task.make("gathered sums", shape.tokens * shape.width);
  task.backend.unpermute_forward(shape, task.read("gathered rows"), task.read("gathered weights"), task.read("rows"),
                                 y);
  task.alias("returned", "rows");
}

void combine_gathered(Task& task) {
  const Tensor sums = task.read("gathered sums");
  expect_bytes(task, sums.count, task.c.element);
  scatter(task, sums, "unpermuted");
  task.alias("branch", "unpermuted");
}

void gather_output_gradients(Task& task) {
  const Tensor d = gather(task, branch_gradient(task), "d gathered sums");
  expect_bytes(task, d.count, task.c.element);
}

void unpermute_gathered_backward(Task& task) {
  const kernels::Permute shape = gathered_shape(task);
  const Tensor returned = task.read("returned"), weights = task.read("gathered weights");
  const Tensor d = make_rows(task, "d rows", routing_of(task).rows_received());
  task.backend.unpermute_backward(shape, task.read("gathered rows"), weights, returned, task.read("d gathered sums"), d,
                                  task.make("d gathered weights", weights.count, kStatistic));
}

void permute_gathered_backward(Task& task) {
  const kernels::Permute shape = gathered_shape(task);
  task.backend.permute_backward(shape, task.read("gathered rows"), task.read("d rows"),
                                task.make("d gathered tokens", shape.tokens * shape.width));
}

/// A choice has its weight's gradient on the rank of its expert, zeros on the others.
void scatter_token_gradients(Task& task) {
  const Tensor d = task.read("d gathered tokens");
  expect_bytes(task, d.count, task.c.element);
  scatter(task, d, gradient_name("feed-forward norm", "permute"));
  scatter(task, task.read("d gathered weights"), "d router weights", kStatistic);
}

}  // namespace real
