// real/executor/actions/experts.cpp -- mixture of experts (core/plan/moe.h): routing, and the way of the tokens' copies
// to the ranks of their experts and back, by the dispatcher alltoall; the other one's is in gathered_experts.cpp. Each
// operator takes "rows" as the one before it left them and leaves its own; on the way back "d rows". How many rows come
// from whom travels in front of the rows themselves, for which the Plan has no operator. The matmuls are in
// expert_linear.cpp. SPDX-License-Identifier: Apache-2.0
#include "real/executor/actions/experts.h"

#include <numeric>

#include "core/plan/moe_shape.h"
#include "real/executor/actions/gathered_experts.h"
#include "real/executor/actions/linear.h"
#include "real/executor/gradients.h"

namespace real {
namespace {

const spec::Moe& moe_of(const Task& task) { return *task.c.model.moe; }

/// Each expert has as many rows as a rank's capacity, so that no one waits for the router's counts.
void take_capacity(Task& task, std::int64_t capacity) {
  Routing& routing = task.rank.routings[task.site];
  routing = {};
  routing.by_expert.assign(moe_of(task).experts, capacity);
  routing.local = moe_of(task).experts / task.c.strategy.ep;
  routing.received = routing.gathered = {routing.by_expert};
}

kernels::Router router_shape(const Task& task) {
  return {task.c.shard_tokens, moe_of(task).experts, moe_of(task).top_k, 0};
}

void choose(Task& task) {
  const kernels::Router router = router_shape(task);
  const std::int64_t choices = router.tokens * router.top_k;
  const Tensor logits = task.read("router");
  const Tensor probabilities = task.make("router probabilities", logits.count, kStatistic);
  const Tensor experts = task.make("router experts", choices, kIndices);
  const Tensor weights = task.make("router weights", choices, kStatistic);
  task.backend.router_forward(router, logits, probabilities, experts, weights);
  const kernels::Permute rows = permute_shape(task);
  if (const std::int64_t capacity = plan::MoeShape(task.c).capacity; capacity > 0) {
    kernels::Permute limited = rows;
    limited.capacity = capacity;
    task.backend.drop_choices(limited, experts, weights, task.make("router choices", choices, kIndices));
    if (rows.capacity > 0 && !task.again()) take_capacity(task, capacity);
  } else {
    task.alias("router choices", "router experts");
  }
  task.backend.permute_plan(rows, task.read("router choices"), task.make("router counts", router.experts, kIndices),
                            task.make("router rows", choices, kIndices));
}

void choose_backward(Task& task) {
  const kernels::Router router = router_shape(task);
  const Tensor probabilities = task.read("router probabilities"), d = task.make("d router", probabilities.count);
  task.backend.router_backward(router, probabilities, task.read("router experts"), task.read("router counts"),
                               task.read("d router weights"), d);
  if (moe_of(task).router_bias) task.backend.sum_rows(router.tokens, d, task.gradient("router.bias"));
}

void read_counts(Task& task) {
  const std::vector<std::int32_t> counts = task.backend.download_indices(task.read("router counts"));
  task.rank.order.host_waits();
  Routing& routing = task.rank.routings[task.site];
  routing = {};
  routing.by_expert.assign(counts.begin(), counts.end());
  routing.local = moe_of(task).experts / task.c.strategy.ep;
  routing.received = {routing.by_expert};  // where nothing is exchanged
  routing.gathered = {routing.by_expert};
}

const char* rows_name(const Task& task) { return task.op.phase == plan::Phase::backward ? "d rows" : "rows"; }

std::vector<Counts> by_member(const Routing& routing, int members) {
  std::vector<Counts> out(members);
  for (int i = 0; i < members; ++i) {
    const auto first = routing.by_expert.begin() + i * routing.local;
    out[i].assign(first, first + routing.local);
  }
  return out;
}

Counts elements(const Task& task, const std::vector<Counts>& rows) {
  Counts out;
  for (const Counts& c : rows) out.push_back(Routing::sum(c) * task.c.hidden);
  return out;
}

Tensor trade(Task& task, const Counts& sends, const Tensor& from, const Counts& receives, std::string_view name) {
  const Tensor to = task.make(name, Routing::sum(receives));
  expect_bytes_of_rows(task, to.count);
  task.backend.all_to_all(task.group(), sends, from, receives, to);
  return to;
}

/// Copies in the order of all experts to the ranks of these.
void dispatch(Task& task) {
  if (gathers_tokens(task)) {
    return task.op.phase == plan::Phase::backward ? gather_output_gradients(task) : gather_tokens(task);
  }
  const char* rows = rows_name(task);
  const Routing& routing = routing_of(task);
  const std::vector<Counts> sent = by_member(routing, task.c.strategy.ep);
  if (task.op.phase != plan::Phase::backward) receive_counts(task);
  trade(task, elements(task, sent), task.read(rows), elements(task, routing.received), rows);
  // Recomputation by operators keeps what an all-to-all has brought.
  if (task.forward() && by_operators(task)) task.alias("received rows", rows);
}

void combine(Task& task) {
  if (gathers_tokens(task)) {
    return task.op.phase == plan::Phase::backward ? scatter_token_gradients(task) : combine_gathered(task);
  }
  const char* rows = rows_name(task);
  const Routing& routing = routing_of(task);
  const Counts returned = elements(task, by_member(routing, task.c.strategy.ep));
  trade(task, elements(task, routing.received), task.read(rows), returned, rows);
}

/// Between rows as they were gathered and rows in the order of this rank's experts, by one kernel as in the Plan: 8
/// members and 32 experts would be 256 copies.
void sort(Task& task, bool by_expert) {
  const Routing& routing = routing_of(task);
  const std::int64_t width = task.c.hidden;
  find_received(task);
  const Tensor x = task.read(rows_name(task)), y = task.make(rows_name(task), x.count);
  std::vector<std::int32_t> from(static_cast<std::size_t>(x.count / width));  // the row of x, by that of y
  Counts next(routing.local, 0), all = routing.of_experts();                  // rows of an expert that are placed
  std::exclusive_scan(all.begin(), all.end(), next.begin(), std::int64_t{0});
  std::int64_t at = 0;
  for (const Counts& member : routing.gathered) {
    for (std::size_t i = 0; i < member.size(); ++i) {
      std::int64_t& placed = next[i % routing.local];
      const std::int64_t first = by_expert ? at : placed;
      std::iota(from.begin() + (by_expert ? placed : at), from.begin() + (by_expert ? placed : at) + member[i],
                static_cast<std::int32_t>(first));
      at += member[i];
      placed += member[i];
    }
  }
  const auto rows = static_cast<std::int64_t>(from.size());
  if (rows > 0) task.backend.embedding_forward({rows, width, rows}, task.backend.upload_passing_indices(from), x, y);
}

/// What a framework does to pad the rows of each expert, which no matmul here asks for.
void copy_rows(Task& task) {
  find_received(task);
  const Tensor x = task.read(rows_name(task));
  task.backend.copy(x, task.make(rows_name(task), x.count));
}

/// Every member's rows to every member. The Plan sorts what a rank receives by all-to-all alone: tokens that were
/// gathered are in the order of the experts until here.
void gather_for_experts(Task& task) {
  Routing& routing = routing_of(task);
  const int members = task.c.strategy.etp;
  const Counts own = flat(routing.received);
  if (task.op.phase != plan::Phase::backward) {
    const std::vector<Counts> told(members, own);
    routing.gathered = permute_shape(task).capacity > 0 ? told : exchange_counts(task, told);
  }
  find_received(task);
  const Tensor rows = task.read(rows_name(task));
  const Tensor copies = task.backend.allocate(rows.count * members);
  for (int i = 0; i < members; ++i) task.backend.copy(rows, copies.part(i * rows.count, rows.count));
  trade(task, Counts(members, rows.count), copies, elements(task, routing.gathered), rows_name(task));
  if (gathers_tokens(task)) sort(task, true);
}

/// The sum of what all members have made of each one's rows.
void scatter_for_experts(Task& task) {
  if (gathers_tokens(task)) sort(task, false);
  const Routing& routing = routing_of(task);
  const int members = task.c.strategy.etp;
  const std::int64_t own = routing.rows_received() * task.c.hidden;
  const Tensor rows = task.read(rows_name(task)), parts = task.backend.allocate(own * members);
  const Tensor sum = task.make(rows_name(task), own);
  task.backend.all_to_all(task.group(), elements(task, routing.gathered), rows, Counts(members, own), parts);
  task.backend.fill(sum, 0);
  for (int i = 0; i < members; ++i) task.backend.add(parts.part(i * own, own), sum);
}

void permute(Task& task) {
  if (gathers_tokens(task)) return permute_gathered(task);
  const kernels::Permute shape = permute_shape(task);
  // Matmuls here take counts of the host, wherever the framework's do.
  if (plan::counts_behind_rows(task.c) && shape.capacity == 0 && !task.again()) read_counts(task);
  const Tensor rows = make_rows(task, "rows", Routing::sum(routing_of(task).by_expert));
  task.backend.permute_forward(shape, task.read("router rows"), task.read("feed-forward norm"), rows);
}

void permute_backward(Task& task) {
  if (gathers_tokens(task)) return permute_gathered_backward(task);
  const Tensor d = task.read("d rows");
  const Tensor dx = task.make(gradient_name("feed-forward norm", "permute"), task.c.shard_tokens * task.c.hidden);
  task.backend.permute_backward(permute_shape(task), task.read("router rows"), d, dx);
}

void unpermute(Task& task) {
  if (gathers_tokens(task)) return unpermute_gathered(task);
  const Tensor y = task.make("unpermuted", task.c.shard_tokens * task.c.hidden);
  task.backend.unpermute_forward(permute_shape(task), task.read("router rows"), task.read("router weights"),
                                 task.read("rows"), y);
  task.alias("returned", "rows");
  task.alias("branch", "unpermuted");
}

void unpermute_backward(Task& task) {
  if (gathers_tokens(task)) return unpermute_gathered_backward(task);
  const Tensor dy = branch_gradient(task);
  const Tensor returned = returned_rows(task), weights = task.read("router weights");
  task.backend.unpermute_backward(permute_shape(task), task.read("router rows"), weights, returned, dy,
                                  make_rows(task, "d rows", Routing::sum(routing_of(task).by_expert)),
                                  task.make("d router weights", weights.count, kStatistic));
}

void add_shared(Task& task) {
  const Tensor routed = task.read("unpermuted"), shared = task.read("shared expert down");
  const Tensor sum = task.make("experts", routed.count);
  task.backend.sum(routed, shared, sum);
  task.alias("branch", "experts");
}

}  // namespace

kernels::Permute permute_shape(const Task& task) {
  const spec::Moe& moe = moe_of(task);
  kernels::Permute shape{task.c.shard_tokens, moe.top_k, moe.experts, task.c.hidden};
  if (task.c.strategy.pads_experts()) shape.capacity = plan::MoeShape(task.c).capacity;
  return shape;
}

std::vector<Counts> exchange_counts(Task& task, const std::vector<Counts>& mine) {
  std::vector<double> flat;
  for (const Counts& c : mine) flat.insert(flat.end(), c.begin(), c.end());
  const auto each = static_cast<std::int64_t>(mine.front().size());
  const std::vector<std::int64_t> pieces(mine.size(), each);
  const Tensor to = task.backend.allocate(static_cast<std::int64_t>(flat.size()), kNumbers);
  task.backend.all_to_all(task.group(), pieces, task.backend.upload(flat), pieces, to);
  const std::vector<double> arrived = task.backend.download(to);
  std::vector<Counts> out(mine.size());
  for (std::size_t i = 0; i < arrived.size(); ++i) {
    out[i / each].push_back(static_cast<std::int64_t>(arrived[i]));
  }
  return out;
}

void receive_counts(Task& task) {
  Routing& routing = routing_of(task);
  const int ranks = task.c.strategy.ep;
  const std::int64_t capacity = permute_shape(task).capacity;
  routing.received = capacity > 0 ? std::vector<Counts>(ranks, Counts(routing.local, capacity))
                                  : exchange_counts(task, by_member(routing, ranks));
  routing.gathered = {flat(routing.received)};
}

void find_received(Task& task) {
  if (!task.again() || !task.has("received rows")) return;
  task.alias("rows", "received rows");
  task.erase("received rows");
}

Tensor returned_rows(Task& task) { return task.read(task.has("returned") ? "returned" : "rows"); }

Tensor make_rows(Task& task, std::string_view name, std::int64_t rows) {
  const Tensor out = task.make(name, rows * task.c.hidden);
  if (permute_shape(task).capacity > 0) task.backend.fill(out, 0);
  return out;
}

Tensor branch_gradient(Task& task) {
  if (!task.has("d branch")) task.keep_gradient_stream("d unpermuted");
  return task.read(task.has("d branch") ? "d branch" : "d unpermuted");
}

Routing& routing_of(Task& task) { return task.rank.routings.at(task.site); }

Counts flat(const std::vector<Counts>& counts) {
  Counts out;
  for (const Counts& c : counts) out.insert(out.end(), c.begin(), c.end());
  return out;
}

void expect_bytes_of_rows(const Task& task, std::int64_t elements) {
  if (permute_shape(task).capacity > 0) expect_bytes(task, elements, task.c.element);
}

void add_expert_actions(Actions& actions) {
  actions["router top-k"] = choose;
  actions["router top-k gradient"] = choose_backward;
  actions["tokens by expert read by the host"] = read_counts;
  actions["counts of tokens"] = [](Task&) {};  // they travel in front of the rows
  actions["permute"] = permute;
  actions["permute gradient"] = permute_backward;
  actions["unpermute"] = unpermute;
  actions["unpermute gradient"] = unpermute_backward;
  actions["shared expert add"] = add_shared;
  actions["routed branches gradient"] = [](Task& t) {
    join_gradients(t, gradient_name("feed-forward norm", ""), gradient_name("feed-forward norm", "experts"));
  };
  for (const std::string name : {"expert dispatch", "expert combine gradient"}) actions[name] = dispatch;
  for (const std::string name : {"expert combine", "expert dispatch gradient"}) actions[name] = combine;
  for (const std::string name : {"expert all-gather", "expert gradient all-gather"}) actions[name] = gather_for_experts;
  for (const std::string name : {"expert reduce-scatter", "expert gradient reduce-scatter"})
    actions[name] = scatter_for_experts;
  for (const std::string name : {"sort by expert", "unsort by expert gradient"}) {
    actions[name] = [](Task& t) { sort(t, true); };
  }
  for (const std::string name : {"unsort by expert", "sort by expert gradient"}) {
    actions[name] = [](Task& t) { sort(t, false); };
  }
  for (const std::string name : {"pad rows", "unpad rows", "unpad rows gradient", "pad rows gradient"})
    actions[name] = copy_rows;
  add_expert_linear_actions(actions);
}

}  // namespace real
