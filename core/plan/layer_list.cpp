// SPDX-License-Identifier: Apache-2.0
#include "core/plan/layer_list.h"

#include <algorithm>
#include <string>
#include <utility>

#include "core/plan/data_parallel.h"
#include "core/plan/layer_operators.h"
#include "core/plan/states.h"
#include "core/plan/step_ends.h"
#include "core/plan/storage.h"
#include "core/plan/units.h"

namespace plan {
namespace {

using Type = spec::Layer::Type;

class ListBuilder {
 public:
  ListBuilder(const Context& c, Pool& pool, Plan& plan)
      : c_(c),
        pool_(pool),
        plan_(plan),
        list_(c.model.list),
        chunk_{.layers = static_cast<int>(c.model.list.size()), .first = true, .last = true},
        dense_(spec::totals(c.model.list).dense_parameters),
        tables_(table_share(c.model.list, c.axes.ranks)) {
    find_kept();
  }

  Role build();

 private:
  void find_kept();
  void exchange(SegmentBuilder&, const char* name);
  void look_up(SegmentBuilder&);
  void update_tables(SegmentBuilder&);
  std::int32_t forward();
  std::int32_t backward(bool reduces, bool sums_replicas);
  void end(SegmentBuilder&, bool reduced);
  std::int32_t add(SegmentBuilder& out) {
    plan_.segments.push_back(out.finish());
    return static_cast<std::int32_t>(plan_.segments.size()) - 1;
  }

  const Context& c_;
  Pool& pool_;
  Plan& plan_;
  const std::vector<spec::Layer>& list_;
  Chunk chunk_;
  std::int64_t dense_;
  TableShare tables_;
  std::vector<std::int64_t> kept_, released_;  // bytes taken by each layer's forward, given back behind its backward
  bool keeps_input_ = false;                   // the network's own
};

void ListBuilder::find_kept() {
  const int layers = static_cast<int>(list_.size());
  std::vector<int> reader(list_.size(), -1);  // of each output: the earliest layer whose backward reads it
  for (int i = layers - 1; i >= 0; --i) {
    if (!list_[i].keeps_input()) continue;
    if (list_[i].reads < 0) {
      keeps_input_ = true;
    } else {
      reader[list_[i].reads] = i;
    }
  }
  kept_.assign(list_.size(), 0);
  released_.assign(list_.size(), 0);
  for (int i = 0; i < layers; ++i) {
    const std::int64_t elements = c_.batch * list_[i].out_elements();
    if (list_[i].relu) reader[i] = i;  // in place: its gradient is masked by what it put out
    if (reader[i] >= 0) {
      kept_[i] += elements * c_.element;
      released_[reader[i]] += elements * c_.element;
    }
    if (list_[i].type == Type::max_pool) {  // where the maxima stood
      kept_[i] += elements * 8;
      released_[i] += elements * 8;
    }
  }
}

/// Each rank has looked its tables up for the samples of all ranks, and each sample goes to its own rank; back
/// likewise.
void ListBuilder::exchange(SegmentBuilder& out, const char* name) {
  if (c_.axes.ranks == 1) return;
  // Of its own: gradients of the batch before may be under way on another stream.
  const std::int16_t channel = pool_.channel({Channel::Kind::group, Axis::dp, kSecond});
  const std::int64_t bytes = c_.batch * c_.axes.ranks * tables_.tables * tables_.width * c_.element;
  out.communicate(Collective{CollectiveKind::all_to_all, bytes, c_.group(Axis::dp)}, name, Stream::ep, channel,
                  {Stream::compute});
}

void ListBuilder::look_up(SegmentBuilder& out) {
  const std::int64_t samples = c_.batch * c_.axes.ranks;
  const std::int64_t read = samples * tables_.lookups * tables_.width * c_.element;
  const std::int64_t pooled = samples * tables_.tables * tables_.width * c_.element;
  out.compute(MemoryBound{MemoryBound::Kind::embedding, read, pooled, 1}, "embedding lookup");
  exchange(out, "embedding all-to-all");
}

/// Rows that were looked up are updated in place, as sparse gradients are, without states of the optimizer.
void ListBuilder::update_tables(SegmentBuilder& out) {
  const std::int64_t samples = c_.batch * c_.axes.ranks;
  const std::int64_t gradients = samples * tables_.tables * tables_.width * c_.element;
  const std::int64_t rows = samples * tables_.lookups * tables_.width * c_.element;
  if (c_.axes.ranks > 1) out.join(Stream::ep);
  out.compute(MemoryBound{MemoryBound::Kind::embedding, gradients + rows, rows, 1}, "embedding update");
}

std::int32_t ListBuilder::forward() {
  SegmentBuilder out(pool_, "forward");
  const LayerOperators operators(c_, out);
  ForwardUnits units(c_, out, chunk_, c_.fully_sharded);
  out.take(Category::activations, keeps_input_ ? c_.batch * list_.front().in_elements() * c_.element : 0);
  bool looked_up = false;
  for (int i = 0; i < static_cast<int>(list_.size()); ++i) {
    out.layer = static_cast<std::int16_t>(i);
    const spec::Layer& layer = list_[i];
    out.take(Category::activations, kept_[i]);
    units.enter(i);
    if (layer.type == Type::embedding_bag) {
      if (!std::exchange(looked_up, true)) look_up(out);
    } else {
      if (layer.type == Type::interaction && looked_up && c_.axes.ranks > 1) out.join(Stream::ep);
      operators.forward(layer);
    }
    units.leave(i);
  }
  out.layer = -1;
  const std::int64_t last = c_.batch * list_.back().out_elements() * c_.element;
  out.compute(MemoryBound{MemoryBound::Kind::loss, last, last, 1}, "loss");
  return add(out);
}

std::int32_t ListBuilder::backward(bool reduces, bool sums_replicas) {
  SegmentBuilder out(pool_, reduces ? "last backward" : "backward");
  out.phase = Phase::backward;
  BackwardUnits units(c_, out, out, chunk_, {reduces, sums_replicas, true});
  if (c_.scatters_gradients) reduces = false;  // the units do
  GradientBuckets buckets(c_, out);
  const LayerOperators operators(c_, out);
  const std::int64_t last = c_.batch * list_.back().out_elements() * c_.element;
  out.compute(MemoryBound{MemoryBound::Kind::loss, last, last, 1}, "loss gradient");
  bool returned = false;
  for (int i = static_cast<int>(list_.size()) - 1; i >= 0; --i) {
    const spec::Layer& layer = list_[i];
    out.layer = static_cast<std::int16_t>(i);
    units.enter(i);
    if (layer.type != Type::embedding_bag) {
      const std::int64_t flowing = c_.batch * (layer.in_elements() + layer.out_elements()) * c_.element;
      out.take(Category::workspace, flowing);
      operators.backward(layer);
      out.give(Category::workspace, flowing);
      if (reduces) buckets.add({layer.parameters(), 0});
      if (layer.type == Type::interaction && tables_.tables > 0 && !std::exchange(returned, true)) {
        exchange(out, "embedding gradient all-to-all");
      }
    }
    out.give(Category::activations, released_[i]);
    units.leave(i);
    units.complete(i);
  }
  if (tables_.tables > 0) {
    if (!returned) exchange(out, "embedding gradient all-to-all");
    update_tables(out);
  }
  out.give(Category::activations, keeps_input_ ? c_.batch * list_.front().in_elements() * c_.element : 0);
  if (reduces) buckets.flush();
  units.finish();
  return add(out);
}

void ListBuilder::end(SegmentBuilder& out, bool reduced) {
  out.phase = Phase::optimizer;
  if (c_.axes.ranks > 1 && !reduced) {
    GradientBuckets buckets(c_, out);
    for (int i = chunk_.layers - 1; i >= 0; --i) buckets.add(layer_parameters(c_, i));
    buckets.flush();
  }
  if (c_.axes.ranks > 1) out.join(Stream::dp);
  if (c_.axes[Axis::replicate].size > 1) out.join(Stream::replicate);
  copy_buckets_back(c_, out, {dense_, 0});
  update_parameters(c_, out, optimizer_share(c_, {dense_, 0}).total());
  out.give(Category::gradients, unscattered_sums(c_, {dense_, 0}));
  if (c_.strategy.zero >= 1 && !c_.fully_sharded) gather_parameters(c_, out, {dense_, 0}, true);
}

Role ListBuilder::build() {
  Role role;
  role.ranks = c_.axes.ranks;
  hold_states(c_, {dense_, 0}, {}, role);
  role.resident[static_cast<int>(Category::parameters)] += tables_.parameters * c_.element;
  SegmentBuilder begin(pool_, "begin");
  const CheckpointShare checkpoint =
      even_share(c_, checkpoint_bytes(c_, {dense_, 0}) + tables_.parameters * c_.element);
  begin_storage(c_, begin, 0, checkpoint);
  begin.take(Category::gradients, unscattered_sums(c_, {dense_, 0}));  // end() gives them back
  begin_step(c_, begin, c_.scatters_gradients ? optimizer_share(c_, {dense_, 0}).total() : dense_);
  role.calls.push_back({add(begin), -1, -1});
  const bool reduces = c_.scatters_gradients || (c_.overlap_grad_reduce && c_.axes.ranks > 1);
  const bool each = c_.scatters_gradients && c_.strategy.fsdp.sync_each_microbatch;
  const bool each_sums = each && !c_.sums_replicas_last;
  const std::int32_t forwards = forward(), backwards = backward(each, each_sums);
  const std::int32_t last = reduces && !each_sums ? backward(true, true) : backwards;
  for (int m = 0; m < static_cast<int>(c_.microbatches); ++m) {
    role.calls.push_back({forwards, m, 0});
    role.calls.push_back({m + 1 == static_cast<int>(c_.microbatches) ? last : backwards, m, 0, Pass::backward});
  }
  SegmentBuilder ends(pool_, "end");
  end(ends, reduces);
  end_storage(c_, ends, checkpoint);
  role.calls.push_back({add(ends), -1, -1});
  return role;
}

}  // namespace

TableShare table_share(const std::vector<spec::Layer>& list, int ranks) {
  std::vector<const spec::Layer*> tables;
  TableShare out;
  for (const spec::Layer& layer : list) {
    if (layer.type != Type::embedding_bag) continue;
    tables.push_back(&layer);
    out.width = std::max(out.width, layer.out);
  }
  std::stable_sort(tables.begin(), tables.end(),
                   [](const auto* a, const auto* b) { return a->parameters() > b->parameters(); });
  struct Load {
    std::int64_t parameters = 0, tables = 0, lookups = 0;
  };
  std::vector<Load> loads(std::min<std::size_t>(static_cast<std::size_t>(ranks), tables.size()));
  for (const spec::Layer* table : tables) {
    const auto least = std::min_element(loads.begin(), loads.end(), [](const Load& a, const Load& b) {
      return std::pair(a.lookups, a.parameters) < std::pair(b.lookups, b.parameters);
    });
    least->parameters += table->parameters();
    least->lookups += table->lookups;
    ++least->tables;
  }
  for (const Load& load : loads) {
    out.parameters = std::max(out.parameters, load.parameters);
    out.lookups = std::max(out.lookups, load.lookups);
    out.tables = std::max(out.tables, load.tables);
  }
  return out;
}

Role layer_list_role(const Context& c, Pool& pool, Plan& plan) { return ListBuilder(c, pool, plan).build(); }

}  // namespace plan
