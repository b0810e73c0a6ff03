// SPDX-License-Identifier: Apache-2.0
#include "core/plan/muon.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "core/plan/adapters.h"
#include "core/plan/multi_token.h"
#include "core/plan/states.h"
#include "core/plan/step_ends.h"
#include "core/plan/tensor_parallel.h"

namespace plan {
namespace {

constexpr int kIterations = 5;
constexpr std::int64_t kBf16 = 2;
// Of one matrix beside the three products of an iteration: its norm, its division, its cast.
constexpr int kLaunchesBeside = 4;

/// Products of an iteration over a matrix of n x m with n <= m: X X^T, its square, and that times X.
double flops(const Matrices& one) {
  const auto n = static_cast<double>(one.shorter()), m = static_cast<double>(one.longer());
  return 2 * n * n * (2 * m + n);
}

class Counter {
 public:
  explicit Counter(const Context& c) : c_(c) {}

  void layer(int index) { layer(c_.model.parts_in(index)); }

  void layer(spec::LayerParts parts) {
    for (const Placed& one : linears_of_layer(c_, parts)) add(one.linear);
    if (parts.has_experts()) add(c_.model.moe->experts, c_.hidden);  // the router
  }

  void module() {  // of multi-token prediction
    for (int i = 0; i < c_.model.module_layers(); ++i) layer(c_.model.module_parts(i));
    add(multi_token_projection(c_));
  }

  std::vector<Matrices> finish() const {
    std::vector<Matrices> out;
    for (const auto& [key, count] : counts_) {
      const auto& [experts, rows, columns] = key;
      out.push_back({rows, columns, count, experts});
    }
    return out;
  }

 private:
  void add(std::int64_t rows, std::int64_t columns, std::int64_t count = 1, bool experts = false) {
    if (rows > 0 && columns > 0) counts_[{experts, rows, columns}] += count;
  }
  void add(const Linear& linear) {
    if (linear.axis == Axis::etp) {  // all that the rank holds, whether tokens reach them or not
      add(linear.in, linear.out, c_.model.moe->experts / c_.strategy.ep, true);
    } else if (linear.name == qkv_linear(c_).name) {
      const std::int64_t queries = c_.q_width + c_.gate_width;
      add(queries, c_.hidden);
      add((c_.qkv_product - queries) / 2, c_.hidden, 2);
    } else if (linear.parts[0] == 0) {
      add(linear.in, linear.out);
    } else {
      for (const std::int64_t part : linear.parts) add(linear.in, part);
    }
  }

  const Context& c_;
  std::map<std::tuple<bool, std::int64_t, std::int64_t>, std::int64_t> counts_;
};

/// Its norm, by which it is divided, and the iterations of matrices that are alike.
void iterate(const Matrices& one, SegmentBuilder& out) {
  const std::int64_t n = one.shorter(), m = one.longer();
  const auto each = static_cast<int>(one.count);
  const std::int64_t bytes = one.parameters() * kBf16;
  out.compute(MemoryBound{MemoryBound::Kind::reduce, 2 * bytes, bytes, 2}, "Newton-Schulz start",
              kLaunchesBeside * each);
  const auto product = [&](std::int64_t rows, std::int64_t columns, std::int64_t inner, const char* name) {
    out.compute(Matmul{rows, columns, inner, one.count, spec::Dtype::bf16, spec::Dtype::bf16}, name, each);
  };
  for (int i = 0; i < kIterations; ++i) {
    product(n, n, m, "Newton-Schulz X X^T");
    product(n, n, n, "Newton-Schulz square");
    product(n, m, n, "Newton-Schulz update");
  }
}

int ranks_of(const Context& c, bool experts) {
  if (c.strategy.zero == 0) return 1;
  return c.axes[experts ? c.expert_shard_axis : c.shard_axis].size;
}

/// Of matrices from the largest to the smallest, dealt in turns: what the first rank has, the largest of each turn.
std::vector<Matrices> dealt(const Context& c, const std::vector<Matrices>& all) {
  std::vector<Matrices> owned;
  for (const bool experts : {false, true}) {
    const std::int64_t ranks = ranks_of(c, experts);
    std::int64_t before = 0;
    for (Matrices one : all) {
      if (one.experts != experts) continue;
      const auto first_rank_has = [&](std::int64_t of) { return (of + ranks - 1) / ranks; };
      const std::int64_t end = before + one.count;
      one.count = first_rank_has(end) - first_rank_has(before);
      before = end;
      if (one.count > 0) owned.push_back(one);
    }
  }
  return owned;
}

}  // namespace

bool by_muon(const Context& c) { return c.job.training.optimizer == spec::Optimizer::muon && !c.serves; }

std::vector<Matrices> matrices_of(const Context& c, const std::vector<Chunk>& chunks) {
  Counter counter(c);
  for (const Chunk& chunk : chunks) {
    for (int i = 0; i < chunk.layers; ++i) counter.layer(chunk.first_layer + i);
    for (int k = 0; chunk.last && k < c.model.module_copies(); ++k) counter.module();
  }
  return counter.finish();
}

std::vector<Matrices> owned_matrices(const Context& c, const std::vector<Chunk>& chunks) {
  std::vector<Matrices> all = matrices_of(c, chunks);
  std::stable_sort(all.begin(), all.end(), [](const Matrices& a, const Matrices& b) { return flops(a) > flops(b); });
  return dealt(c, all);
}

Held with_second_moments(const Context& c, const std::vector<Chunk>& chunks) {
  Held rest = stage_parameters(c, chunks);
  for (const Matrices& one : matrices_of(c, chunks)) (one.experts ? rest.experts : rest.dense) -= one.parameters();
  return {std::max<std::int64_t>(rest.dense, 0), std::max<std::int64_t>(rest.experts, 0)};
}

std::int64_t states_by_muon(const Context& c, const std::vector<Chunk>& chunks) {
  const std::int64_t moment = moment_bytes(c);
  const std::int64_t each = state_beside_weight(c);
  std::vector<Matrices> all = matrices_of(c, chunks);
  std::int64_t tables = 0;
  for (const Chunk& chunk : chunks) {
    const bool head = chunk.last && head_parameters(c) >= c.vocab * c.hidden;
    tables += (chunk.first && !c.spread_vocab ? 1 : 0) + (head ? 1 : 0);
  }
  Held others = with_second_moments(c, chunks);
  const Matrices table{.rows = c.vocab, .columns = c.hidden, .count = tables, .table = true};
  others.dense = std::max<std::int64_t>(others.dense - table.parameters(), 0);
  if (tables > 0) all.push_back(table);
  const auto larger = [](const Matrices& a, const Matrices& b) { return a.rows * a.columns > b.rows * b.columns; };
  std::stable_sort(all.begin(), all.end(), larger);
  std::int64_t bytes = optimizer_share(c, others).total() * (each + moment);
  for (const Matrices& one : dealt(c, all)) {
    bytes += one.parameters() * (each + (one.table ? moment : 0));
  }
  return bytes;
}

void update_by_muon(const Context& c, SegmentBuilder& out, const std::vector<Chunk>& chunks) {
  const std::vector<Matrices> owned = owned_matrices(c, chunks);
  const std::int64_t moment = moment_bytes(c);
  const std::int64_t gradient = owned_gradient_element(c);
  const int launches = update_launches(c);
  std::int64_t elements = 0, widest = 0;
  for (const Matrices& one : owned) {
    elements += one.parameters();
    widest = std::max(widest, 2 * one.rows * one.columns + 2 * one.shorter() * one.shorter());
  }
  using Kind = MemoryBound::Kind;
  out.take(Category::workspace, (elements + widest) * kBf16);  // what comes of all; X twice, X X^T and its square
  out.compute(MemoryBound{Kind::optimizer, elements * (gradient + moment), elements * (moment + kBf16), 1}, "momentum",
              launches);
  for (const Matrices& one : owned) iterate(one, out);
  const bool master = c.job.training.keeps_master();
  const std::int64_t others = optimizer_share(c, with_second_moments(c, chunks)).total(), state = master ? 4 : 0,
                     weight = master ? 0 : c.element;
  const std::int64_t read = elements * (kBf16 + state + weight) + others * (gradient + 2 * moment + state + weight);
  const std::int64_t updated = state + weight_beside_state(c);
  const std::int64_t written = (elements + others) * updated + others * 2 * moment;
  out.compute(MemoryBound{Kind::optimizer, read, written, 1}, "optimizer", launches);
  out.give(Category::workspace, (elements + widest) * kBf16);
}

}  // namespace plan
