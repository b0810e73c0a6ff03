// SPDX-License-Identifier: Apache-2.0
#include "real/executor/flat_order.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "core/plan/data_parallel.h"
#include "core/plan/low_precision.h"

namespace real {
namespace {

using plan::Axis;
using Units = std::vector<Unit>;
using Axes = std::vector<Axis>;

enum class Which { trained, all };

void append(const std::vector<Parameter*>& more, std::vector<Parameter*>& out) {
  out.insert(out.end(), more.begin(), more.end());
}

void append(const Unit& unit, const Axes& axes, std::vector<Parameter*>& out, Which which = Which::trained) {
  for (Parameter* p : unit.parameters) {
    if (std::ranges::count(axes, p->shards) > 0 && (which == Which::all || !p->frozen)) out.push_back(p);
  }
}

/// Units of the ends, which zero 3 reduces together behind all layers, unless it fills buckets.
bool ends_come_last(const RankState& rank) { return rank.c.fully_sharded && !rank.job.framework.bucketed_units; }

/// Whether a parameter is of the table that waits for the passes of two chunks (plan::late_table).
bool leaves_late(const RankState& rank, const Parameter& p) {
  return is_of_both_ends(rank.c.model, p) && plan::late_table(rank.c) > 0;
}

std::vector<Parameter*> gradients_of(const RankState& rank, int chunk, const Axes& axes, bool behind_passes) {
  std::vector<Parameter*> out, ends;
  const Units& units = rank.parameters.units(chunk);
  for (auto unit = units.rbegin(); unit != units.rend(); ++unit) {
    append(*unit, axes, unit->layer < 0 && ends_come_last(rank) ? ends : out);
  }
  append(ends, out);
  if (plan::late_table(rank.c) > 0) {
    std::erase_if(out, [&](const Parameter* p) { return leaves_late(rank, *p) != behind_passes; });
  }
  return out;
}

/// Rows of a vocabulary over the stages have passes of their own; else they come first, so their gradients last.
bool of_vocabulary_pass(const Task& task) { return task.site.chunk < 0 && task.site.microbatch >= 0; }

std::vector<Parameter*> rows_of_vocabulary(const RankState& rank, const Axes& axes) {
  std::vector<Parameter*> out;
  for (const Unit& unit : rank.parameters.vocabulary()) append(unit, axes, out);
  return out;
}

std::vector<Parameter*> weights_of(const RankState& rank, int chunk, Axis axis) {
  std::vector<Parameter*> out;
  for (const Unit& unit : rank.parameters.units(chunk)) append(unit, {axis}, out);
  return out;
}

/// Elements of parameters that a collective of `element` bytes each carries.
std::int64_t carried(const Task& task, std::int64_t element) {
  return task.work<plan::Collective>().bytes / element - task.op.padding;
}

/// `size_of`: what a parameter adds to `more`.
template <class Size>
std::vector<Parameter*> advance(const Task& task, Cursor& cursor, std::int64_t more, Size size_of) {
  std::vector<Parameter*> out;
  cursor.carried += more;
  while (cursor.next < cursor.order.size() && cursor.behind + size_of(*cursor.order[cursor.next]) <= cursor.carried) {
    out.push_back(cursor.order[cursor.next]);
    cursor.behind += size_of(*out.back());
    ++cursor.next;
  }
  if (cursor.next == cursor.order.size() && cursor.behind < cursor.carried) {
    throw std::logic_error(fmt::format("{} carries {} more than there is",
                                       describe(task.rank, task.rank.order.now().by), cursor.carried - cursor.behind));
  }
  return out;
}

std::int64_t elements_of(const Parameter& p) { return p.count(); }

std::string key(const Task& task, const char* what, const Axes& axes) {
  std::string out = fmt::format("{} {}", what, task.site.chunk);
  for (const Axis axis : axes) out += fmt::format(" {}", static_cast<int>(axis));
  return out;
}

std::vector<Parameter*> next_of(Task& task, const Axes& axes, std::int64_t elements) {
  Cursor& cursor = task.rank.cursors[key(task, "gradients", axes)];
  if (cursor.order.empty()) {
    const int chunks = static_cast<int>(task.rank.chunks.size());
    for (int chunk = chunks - 1; chunk >= 0; --chunk) {  // behind all passes: of every chunk
      if (of_vocabulary_pass(task) || (task.site.chunk >= 0 && chunk != task.site.chunk)) continue;
      append(gradients_of(task.rank, chunk, axes, task.site.chunk < 0), cursor.order);
    }
    if (task.site.chunk < 0) append(rows_of_vocabulary(task.rank, axes), cursor.order);
  }
  return advance(task, cursor, elements, elements_of);
}

}  // namespace

std::vector<Parameter*> next_gradients(Task& task, Axis axis) {
  return next_of(task, {axis}, carried(task, task.c.gradient_element));
}

/// Where these are all, dense and experts' take turns in the Plan, each as far as backwards have come; so has the sum
/// of both, in the order of all.
std::vector<Parameter*> next_uncarried_gradients(Task& task, std::int64_t elements) {
  const plan::Context& c = task.c;
  const auto alone = [&](Axis shards, Axis across) {
    const bool grouped = shards == Axis::shard || shards == Axis::expert_shard;
    return c.axes[shards].size == 1 && (!grouped || c.axes[across].size == 1);
  };
  Axes axes;
  if (alone(c.shard_axis, Axis::replicate)) axes.push_back(c.shard_axis);
  if (alone(c.expert_shard_axis, Axis::expert_replicate)) axes.push_back(c.expert_shard_axis);
  return next_of(task, axes, elements);
}

std::vector<Parameter*> next_weights(Task& task, Axis axis) {
  Cursor& cursor = task.rank.cursors[key(task, "weights", {axis})];
  if (cursor.order.empty()) {
    if (task.site.chunk < 0) append(rows_of_vocabulary(task.rank, {axis}), cursor.order);
    for (int chunk = 0; chunk < static_cast<int>(task.rank.chunks.size()); ++chunk) {
      if (of_vocabulary_pass(task) || (task.site.chunk >= 0 && chunk != task.site.chunk)) continue;
      append(weights_of(task.rank, chunk, axis), cursor.order);
    }
  }
  const bool twice = task.rank.job.framework.each_optimizer_gathers && task.site.chunk < 0;
  if (twice && cursor.next == cursor.order.size()) cursor = {.order = std::move(cursor.order)};
  // In bytes, for the Plan gathers all of a layer in fp8 that has weights in fp8 alone.
  const std::int64_t wide = task.c.element;
  const auto bytes_of = [&](const Parameter& p) {
    return p.count() * (plan::gathers_narrow(task.c) && p.of_narrow_layer ? 1 : wide);
  };
  return advance(task, cursor, task.work<plan::Collective>().bytes - task.op.padding * wide, bytes_of);
}

std::vector<Parameter*> unit_weights(Task& task, Axis axis) {
  Cursor unit;
  bool begun = false;
  for (const Unit& u : task.rank.parameters.units(task.site.chunk)) {
    begun |= u.layer == task.op.layer;
    if (task.op.layer < 0 ? u.layer < 0 : begun && u.layer >= 0) append(u, {axis}, unit.order, Which::all);
  }
  // Frozen weights are padded, too, by fewer bytes than there are ranks, of which the operator does not tell.
  std::int64_t left = 0;
  for (const Parameter* p : unit.order) left += p->count();
  return advance(task, unit, std::min(left, carried(task, task.c.element)), elements_of);
}

std::int64_t packed_share(const std::vector<Parameter*>& parameters, int ranks) {
  std::int64_t sum = 0;
  for (const Parameter* p : parameters) sum += p->share(ranks);
  return sum;
}

}  // namespace real
