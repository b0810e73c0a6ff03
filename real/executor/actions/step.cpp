// real/executor/actions/step.cpp -- the begin and the end of a step: gradients zeroed, sums of gradients that no
// data-parallel collective makes, clipping by the norm of all gradients, the optimizer.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>
#include <tuple>

#include "real/executor/actions/fp8_weights.h"
#include "real/executor/actions/step.h"

namespace real {
namespace {

using plan::Axis;

void zero_gradients(Task& task) {
  for (Parameter* p : task.rank.parameters.trained()) {
    if (p->gradient) task.backend.fill(task.write(p->gradient, p->name), 0);
    if (p->reduced_apart) task.backend.fill(task.write(p->reduced, p->name), 0);
  }
}

/// Sums the final gradients of those parameters that `chooses` names over the operator's group, in one order on all;
/// of each the elements of the owned range that `part` says.
template <class Chooses, class Of>
void all_reduce_where(Task& task, Chooses chooses, Of part) {
  std::vector<Parameter*> chosen;
  std::int64_t count = 0;
  for (Parameter* p : task.rank.parameters.trained()) {
    if (!chooses(*p)) continue;
    chosen.push_back(p);
    count += part(*p).length;
  }
  std::sort(chosen.begin(), chosen.end(), [](const Parameter* a, const Parameter* b) {
    return std::tie(a->layer, a->name) < std::tie(b->layer, b->name);
  });
  const Tensor packed = task.backend.allocate(count, of_collective(task.c.gradient_element));
  std::int64_t at = 0;
  for (Parameter* p : chosen) {
    const Range range = part(*p);
    task.backend.copy(task.read(p->final_gradient(), p->name).part(range.begin, range.length),
                      packed.part(at, range.length));
    at += range.length;
  }
  task.backend.all_reduce(task.group(), Sum::add, packed);
  at = 0;
  for (Parameter* p : chosen) {
    const Range range = part(*p);
    task.backend.copy(packed.part(at, range.length),
                      task.write(p->final_gradient(), p->name).part(range.begin, range.length));
    at += range.length;
  }
  task.rank.summed = chosen;
}

template <class Chooses>
void all_reduce_where(Task& task, Chooses chooses) {
  all_reduce_where(task, chooses, [](const Parameter& p) { return Range{0, p.owned.length}; });
}

/// Whether the rank `other` has the same elements of a parameter's gradient as this one.
bool holds_same(const Task& task, const Parameter& p, const Place& other) {
  const Place& place = task.rank.place;
  const auto equal = [&](Axis axis) { return other.coordinate(axis) == place.coordinate(axis); };
  if (other.stage() != place.stage()) return false;
  if (p.sharded && !equal(p.shards)) return false;
  if (p.copies == Axis::expert_dp) return equal(Axis::ep) && (p.uncut || equal(Axis::etp));
  return p.uncut || equal(Axis::tp);
}

/// Of all ranks whose sums of squares are added, the first that holds a gradient counts it; of stages that hold copies,
/// the one where the model begins.
bool counted(const Task& task, const Parameter& p) {
  const Place& place = task.rank.place;
  const bool copied = !task.c.placement.ends_meet() && !task.c.spread_vocab && is_of_both_ends(task.c.model, p);
  if (copied && place.stage() != 0) return false;
  if (task.c.placement.two_copies()) {
    for (const Unit& unit : task.rank.parameters.units(1)) {
      if (std::find(unit.parameters.begin(), unit.parameters.end(), &p) != unit.parameters.end()) return false;
    }
  }
  for (const int rank : place.model_ranks()) {
    if (rank < place.rank() && holds_same(task, p, place.of(rank))) return false;
  }
  return true;
}

void gradient_norm(Task& task) {
  const Tensor sum = task.renew(task.rank.norm, 1, kSum);
  task.backend.fill(sum, 0);
  for (Parameter* p : task.rank.parameters.trained()) {
    const std::int64_t length = counted_elements(task, *p);
    if (length > 0) task.backend.squared_norm(task.read(p->final_gradient(), p->name).part(0, length), sum);
  }
}

void reduce_norm(Task& task) {
  task.backend.all_reduce(task.group(), Sum::add, task.write(task.rank.norm, "gradient norm"));
}

void clip_gradients(Task& task) {
  const Tensor norm = task.read(task.rank.norm, "gradient norm"), factor = task.renew(task.rank.factor, 1, kNumbers);
  task.backend.clip_factor(norm, largest_norm(task), factor);
  for (Parameter* p : task.rank.parameters.trained()) {
    const Tensor gradient = task.write(p->final_gradient(), p->name);
    if (task.rank.settings.keeps_gradients) {
      task.rank.kept_gradients[{p->layer, p->name}] = task.backend.download(gradient);
    }
    task.backend.scale_by(factor, gradient);
  }
}

/// Where the update leaves what is computed with; nothing where that is cast, or where who reads it next gathers it.
Tensor updated_weight(Task& task, Parameter& p) {
  if (p.kept == Kept::codes) return {};
  if (task.rank.comes_and_goes(p)) {
    p.weight = {};
    return {};
  }
  if (p.kept == Kept::until_cast) {
    if (p.sharded) return {};
    task.renew(p.weight, p.count(), kWeight);
  }
  return task.write(p.weight, p.name).part(p.owned.begin, p.owned.length);
}

void optimizer(Task& task) {
  if (!task.rank.has_flush()) {
    task.rank.stash.update(task.rank.parameters,
                           [&](Value& weight) { task.renew(weight, weight.tensor.count, kWeight); });
  }
  for (Parameter* p : task.rank.parameters.trained()) {
    update_parameter(task, *p, updated_weight(task, *p));
    if (p->kept == Kept::codes) update_fp8_weight(task, *p);
  }
}

void host_waits(Task& task) {
  task.backend.host_waits();
  task.rank.order.host_waits();
}

}  // namespace

std::int64_t counted_elements(const Task& task, const Parameter& p) {
  if (!counted(task, p)) return 0;
  return task.rank.place.coordinate(Axis::kv_copies) == 0 ? p.owned.length : p.owned_copies().begin;
}

/// Without a barrier no stage knows the norm of all: they go on as if nothing had to be clipped (Qi et al., arXiv
/// 2401.10241, section 4, would take the step back where that was wrong).
double largest_norm(const Task& task) {
  return task.c.barrier ? task.rank.settings.clip : std::numeric_limits<double>::infinity();
}

void add_step_actions(Actions& actions) {
  actions["zero gradients"] = zero_gradients;
  for (const char* name : {"tied embedding all-reduce", "copied embedding all-reduce"}) {
    actions[name] = [](Task& t) {
      all_reduce_where(t, [&](const Parameter& p) { return is_of_both_ends(t.c.model, p); });
    };
  }
  actions["copies' gradient all-reduce"] = [](Task& t) { all_reduce_where(t, [](const Parameter&) { return true; }); };
  actions["shared weights gradient all-reduce"] = [](Task& t) {
    all_reduce_where(t, [](const Parameter& p) { return p.partial_over_tp; });
  };
  actions["copied heads' gradient all-reduce"] = [](Task& t) {
    all_reduce_where(
        t, [](const Parameter& p) { return p.single >= 0; }, [](const Parameter& p) { return p.owned_copies(); });
  };
  actions["gradient norm"] = gradient_norm;
  actions["gradient norm all-reduce"] = reduce_norm;
  actions["flatten gradients"] = nothing;  // each has a tensor of its own here
  actions["clip gradients"] = clip_gradients;
  actions["optimizer"] = optimizer;
  actions["gradient norm read by the host"] = host_waits;
  actions["exchange awaited by the host"] = host_waits;
  actions["loss read by the host"] = host_waits;
  actions["reductions awaited by the host"] = host_waits;
  actions["events awaited"] = nothing;
}

}  // namespace real
