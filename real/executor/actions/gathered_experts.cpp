// SPDX-License-Identifier: Apache-2.0
#include "real/executor/actions/gathered_experts.h"

#include <algorithm>

#include "real/executor/actions/experts.h"
#include "real/executor/gradients.h"

namespace real {
namespace {

bool visits(const Task& task) { return task.c.strategy.moe_dispatcher == spec::MoeDispatcher::deepep; }

/// Tokens that have come here, of which this rank's experts have rows.
kernels::Permute gathered_shape(Task& task) {
  kernels::Permute shape = permute_shape(task);
  const int ranks = task.c.strategy.ep;
  shape.tokens = visits(task) ? Routing::sum(routing_of(task).visited) : shape.tokens * ranks;
  shape.held = shape.experts / ranks;
  shape.first = task.rank.place.coordinate(plan::Axis::ep) * shape.held;
  shape.capacity *= ranks;
  return shape;
}

/// Rows of `width` numbers of this rank's tokens in the order of the ranks that they visit.
kernels::Permute visit_shape(const Task& task, std::int64_t width) {
  return {task.c.shard_tokens, permute_shape(task).top_k, task.c.strategy.ep, width};
}

Counts elements(const Counts& rows, std::int64_t width) {
  Counts out = rows;
  for (std::int64_t& count : out) count *= width;
  return out;
}

/// Of each choice the rank of its expert, where no choice of the token before it has the same; otherwise -1.
std::vector<std::int32_t> first_visits(const Task& task, const std::vector<std::int32_t>& choices, std::int64_t local) {
  const std::int64_t top_k = permute_shape(task).top_k;
  std::vector<std::int32_t> out(choices.size(), -1);
  for (std::size_t token = 0; token < choices.size(); token += static_cast<std::size_t>(top_k)) {
    const auto begin = out.begin() + static_cast<std::ptrdiff_t>(token);
    for (std::ptrdiff_t j = 0; j < top_k; ++j) {
      const std::int32_t expert = choices[token + static_cast<std::size_t>(j)];
      const auto rank = expert < 0 ? -1 : static_cast<std::int32_t>(expert / local);
      if (std::find(begin, begin + j, rank) == begin + j) begin[j] = rank;
    }
  }
  return out;
}

/// Where a token's visits lie among what is sent; how many there are is told in front of them. Returns the choices of
/// the tokens that come.
Tensor plan_visits(Task& task) {
  Routing& routing = routing_of(task);
  const std::vector<std::int32_t> choices = task.backend.download_indices(task.read("router choices"));
  const std::vector<std::int32_t> ranks = first_visits(task, choices, routing.local);
  const kernels::Permute shape = visit_shape(task, 1);
  std::vector<Counts> told(static_cast<std::size_t>(shape.experts), Counts(1, 0));
  std::vector<std::vector<std::int32_t>> sent(told.size());  // choices of its tokens, to each rank
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    if (ranks[i] < 0) continue;
    const auto to = static_cast<std::size_t>(ranks[i]), top_k = static_cast<std::size_t>(shape.top_k);
    ++told[to][0];
    const auto of_token = choices.begin() + static_cast<std::ptrdiff_t>(i / top_k * top_k);
    sent[to].insert(sent[to].end(), of_token, of_token + static_cast<std::ptrdiff_t>(top_k));
  }
  routing.visits = flat(told);
  routing.visited = flat(exchange_counts(task, told));
  task.backend.permute_plan(shape, task.backend.upload_passing_indices(ranks),
                            task.backend.allocate(shape.experts, kIndices),
                            task.make("visits", static_cast<std::int64_t>(choices.size()), kIndices));
  std::vector<double> flat_choices;
  for (const std::vector<std::int32_t>& to : sent) flat_choices.insert(flat_choices.end(), to.begin(), to.end());
  const Counts arrive = elements(routing.visited, shape.top_k);
  const Tensor arrived = task.backend.allocate(Routing::sum(arrive), kNumbers);
  task.backend.all_to_all(task.group(), elements(routing.visits, shape.top_k), task.backend.upload(flat_choices),
                          arrive, arrived);
  const std::vector<double> numbers = task.backend.download(arrived);
  return task.backend.upload_passing_indices(std::vector<std::int32_t>(numbers.begin(), numbers.end()));
}

/// Rows of `width` numbers of this rank's tokens, to the ranks.
Tensor gather(Task& task, const Tensor& piece, std::string_view name, std::int64_t width,
              Purpose purpose = kActivation) {
  if (!visits(task)) {
    const Tensor whole = task.make(name, piece.count * task.c.strategy.ep, purpose);
    task.backend.all_gather(task.group(), piece, whole);
    return whole;
  }
  const Counts sends = elements(routing_of(task).visits, width), arrive = elements(routing_of(task).visited, width);
  const Tensor sorted = task.backend.allocate(Routing::sum(sends), purpose);
  task.backend.permute_forward(visit_shape(task, width), task.read("visits"), piece, sorted);
  const Tensor whole = task.make(name, Routing::sum(arrive), purpose);
  task.backend.all_to_all(task.group(), sends, sorted, arrive, whole);
  return whole;
}

/// Of such rows the sums over all ranks, back to their token's.
Tensor scatter(Task& task, const Tensor& whole, std::string_view name, std::int64_t width,
               Purpose purpose = kActivation) {
  const Tensor piece = task.make(name, task.c.shard_tokens * width, purpose);
  if (!visits(task)) {
    task.backend.reduce_scatter(task.group(), whole, piece);
    return piece;
  }
  const Counts sent = elements(routing_of(task).visits, width), arrived = elements(routing_of(task).visited, width);
  const Tensor sorted = task.backend.allocate(Routing::sum(sent), purpose);
  task.backend.all_to_all(task.group(), arrived, whole, sent, sorted);
  task.backend.permute_backward(visit_shape(task, width), task.read("visits"), sorted, piece);
  return piece;
}

/// What deepep sends is a forecast of the Plan's.
void expect_bytes_of_all(const Task& task, const Tensor& tokens) {
  if (!visits(task)) expect_bytes(task, tokens.count, task.c.element);
}

}  // namespace

bool gathers_tokens(const Task& task) {
  const spec::Strategy& s = task.c.strategy;
  return s.ep > 1 && s.moe_dispatcher != spec::MoeDispatcher::alltoall;
}

void gather_tokens(Task& task) {
  receive_counts(task);
  Routing& routing = routing_of(task);
  Counts rows(routing.local, 0);  // of all ranks: the permutation puts them in the order of the experts
  for (const Counts& member : routing.received) {
    for (std::int64_t i = 0; i < routing.local; ++i) rows[i] += member[i];
  }
  routing.received = routing.gathered = {rows};
  const std::int64_t top_k = permute_shape(task).top_k;
  const Tensor experts =
      visits(task) ? plan_visits(task) : gather(task, task.read("router choices"), "gathered choices", top_k, kIndices);
  expect_bytes_of_all(task, gather(task, task.read("feed-forward norm"), "gathered tokens", task.c.hidden));
  gather(task, task.read("router weights"), "gathered weights", top_k, kStatistic);
  const kernels::Permute shape = gathered_shape(task);
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
  expect_bytes_of_all(task, sums);
  scatter(task, sums, "unpermuted", task.c.hidden);
  task.alias("branch", "unpermuted");
}

void gather_output_gradients(Task& task) {
  expect_bytes_of_all(task, gather(task, branch_gradient(task), "d gathered sums", task.c.hidden));
}

void unpermute_gathered_backward(Task& task) {
  const kernels::Permute shape = gathered_shape(task);
  const Tensor returned = returned_rows(task), weights = task.read("gathered weights");
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
  expect_bytes_of_all(task, d);
  scatter(task, d, gradient_name("feed-forward norm", "permute"), task.c.hidden);
  scatter(task, task.read("d gathered weights"), "d router weights", permute_shape(task).top_k, kStatistic);
}

}  // namespace real
