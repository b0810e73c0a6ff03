// tests/validation/claim_figures.h -- what a statement of a guide may be about: quantities of a Job, its Plan, its
// prediction and its Trace. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "core/plan/build.h"
#include "sim/predict.h"
#include "tests/validation/claims.h"

namespace claims {

struct Answer {
  spec::Job job;
  result::Prediction prediction;
  plan::Plan plan;
  double forward_gathers = 0;  // time of the gathers of parameters in the forward over the forward's own length
};

inline double forward_gathers(const trace::Trace& trace) {
  trace::Ticks gathers = 0, forwards = 0;
  std::map<int, std::pair<trace::Ticks, trace::Ticks>> forward_of;  // begin and end, by microbatch
  for (const trace::Track& track : trace.tracks) {
    if (track.rank != trace.tracks.front().rank) continue;
    for (const trace::Span& span : track.spans) {
      if (trace.phases.at(span.phase) != "forward" || span.microbatch < 0) continue;
      if (track.stream == "gather") gathers += span.end - span.start;
      if (track.stream != "compute") continue;
      const auto [at, fresh] = forward_of.try_emplace(span.microbatch, span.start, span.end);
      if (!fresh) at->second.second = std::max(at->second.second, span.end);
    }
  }
  for (const auto& [microbatch, forward] : forward_of) forwards += forward.second - forward.first;
  return forwards > 0 ? static_cast<double>(gathers) / static_cast<double>(forwards) : 0;
}

inline std::string key_of(const config::Value& value) {
  std::string text = value.text;
  for (const config::Value& item : value.items) text += "[" + key_of(item) + "]";
  for (const auto& [name, entry] : value.entries) text += "{" + name + ":" + key_of(entry) + "}";
  return text;
}

/// Each job is predicted once, however many statements it tests. Empty where the job is refused.
inline const std::optional<Answer>& answer(const config::Value& tree) {
  static std::map<std::string, std::optional<Answer>> known;
  const auto [at, fresh] = known.try_emplace(key_of(tree));
  if (!fresh) return at->second;
  try {
    Answer now;
    now.job = config::read_job(tree, catalogue());
    sim::Outcome outcome = sim::predict(now.job);
    now.prediction = std::move(outcome.prediction);
    now.plan = plan::build(now.job);
    now.forward_gathers = forward_gathers(outcome.trace);
    at->second = std::move(now);
  } catch (const base::InputError&) {
  }
  return at->second;
}

/// The fastest of the sweep that fits; nullptr when none does.
inline const Answer* best_of(const std::vector<config::Value>& sweep) {
  const Answer* best = nullptr;
  for (const config::Value& tree : sweep) {
    const std::optional<Answer>& now = answer(tree);
    if (!now || !now->prediction.fits) continue;
    if (!best || now->prediction.step_time_s < best->prediction.step_time_s) best = &*now;
  }
  return best;
}

/// Bytes of a category at the peak of the stage that holds most of it.
inline double peak_of(const Answer& a, std::string_view category) {
  double most = 0;
  for (const result::StageMemory& stage : a.prediction.stages) {
    for (const auto& [name, bytes] : stage.categories) {
      if (name == category) most = std::max(most, static_cast<double>(bytes));
    }
  }
  return most;
}

/// Bytes of one GPU of the fullest stage that stay through the whole step.
inline double resident(const Answer& a, std::initializer_list<plan::Category> categories) {
  double most = 0;
  for (const plan::Role& role : a.plan.roles) {
    double sum = 0;
    for (const plan::Category category : categories) {
      sum += static_cast<double>(role.resident[static_cast<std::size_t>(category)]);
    }
    most = std::max(most, sum);
  }
  return most;
}

/// Of the whole model, from data-parallel copies that are not sharded.
inline double weights(const Answer& a) {
  double sum = 0;
  for (const plan::Role& role : a.plan.roles) {
    sum += static_cast<double>(role.resident[static_cast<std::size_t>(plan::Category::parameters)]) * a.plan.tp;
  }
  return sum;
}

inline const result::Communication* axis_of(const Answer& a, std::string_view axis) {
  for (const result::Communication& c : a.prediction.communication) {
    if (c.axis == axis) return &c;
  }
  return nullptr;
}

/// Bytes that a rank sends along an axis in a step.
inline double wire(const result::Communication* c) { return c ? c->bus_bandwidth * c->time_s : 0; }

/// Share of the step in which communication runs and no kernel hides it.
inline double exposed(const Answer& a) {
  double sum = 0;
  for (const auto& [name, seconds] : a.prediction.breakdown_s) {
    if (name.starts_with("exposed_")) sum += seconds;
  }
  return sum / a.prediction.step_time_s;
}

inline double breakdown(const Answer& a, std::string_view entry) {
  for (const auto& [name, seconds] : a.prediction.breakdown_s) {
    if (name == entry) return seconds / a.prediction.step_time_s;
  }
  return 0;
}

/// Bytes of a step that pass each GPU's share of the network cards. A gather or scatter over n ranks sends (n-1)/n of
/// the buffer, a reduction twice that; of a group with several members in an NVLink domain as many rings divide it.
inline double network_bytes(const Answer& a) {
  double sum = 0;
  for (const plan::Call& call : a.plan.roles.front().calls) {
    for (const plan::Operator& op : a.plan.segments[static_cast<std::size_t>(call.segment)].operators) {
      const auto* c = std::get_if<plan::Collective>(&a.plan.works[static_cast<std::size_t>(op.work)]);
      if (!c || c->group.domains < 2) continue;
      const double share = (c->group.size - 1.0) / c->group.size / c->group.per_domain;
      const double sent = c->kind == plan::CollectiveKind::all_reduce ? 2 : 1;
      sum += sent * share * static_cast<double>(c->bytes);
    }
  }
  return sum;
}

inline const plan::Matmul* matmul_of(const Answer& a, std::string_view name) {
  for (const plan::Segment& segment : a.plan.segments) {
    for (const plan::Operator& op : segment.operators) {
      const auto* matmul = std::get_if<plan::Matmul>(&a.plan.works[static_cast<std::size_t>(op.work)]);
      if (matmul && a.plan.names[static_cast<std::size_t>(op.name)] == name) return matmul;
    }
  }
  ADD_FAILURE() << "no matmul is called '" << name << "'";
  return nullptr;
}

/// First and last layer of a stage, counted from 1 as people do.
inline std::pair<int, int> layers_of(const Answer& a, int stage) {
  int first = 0, last = 0;
  for (const plan::Role& role : a.plan.roles) {
    if (role.stage != stage) continue;
    for (const plan::Call& call : role.calls) {
      for (const plan::Operator& op : a.plan.segments[static_cast<std::size_t>(call.segment)].operators) {
        if (op.layer < 0) continue;
        first = first == 0 ? op.layer + 1 : std::min(first, op.layer + 1);
        last = std::max(last, op.layer + 1);
      }
    }
  }
  return {first, last};
}

struct Quantity {
  const char* title;  // of the page
  bool timed;         // moves a little with every calibration; the others are counted
  std::function<double(const Answer&, const Figure&)> value;
};

inline const std::map<std::string, Quantity>& quantities() {
  using A = const Answer&;
  using F = const Figure&;
  using plan::Category;
  static const std::map<std::string, Quantity> all{
      {"step_time_s", {"step time", true, [](A a, F) { return a.prediction.step_time_s; }}},
      {"tokens_per_s", {"tokens/s", true, [](A a, F) { return a.prediction.tokens_per_s; }}},
      {"tokens_per_s_per_gpu", {"tokens/s of a GPU", true, [](A a, F) { return a.prediction.tokens_per_s_per_gpu; }}},
      {"bubble_fraction", {"bubble", true, [](A a, F) { return a.prediction.bubble_fraction; }}},
      {"exposed_share", {"communication not hidden, of the step", true, [](A a, F) { return exposed(a); }}},
      {"storage_share", {"waiting for storage, of the step", true, [](A a, F) { return breakdown(a, "storage"); }}},
      {"forward_gathers", {"all-gathers over forward", true, [](A a, F) { return a.forward_gathers; }}},
      {"fits", {"fits", false, [](A a, F) { return a.prediction.fits ? 1.0 : 0.0; }}},
      {"peak_bytes", {"peak memory", false, [](A a, F) { return double(a.prediction.peak_bytes); }}},
      {"activation_bytes", {"activations", false, [](A a, F) { return peak_of(a, "activations"); }}},
      {"state_bytes",
       {"states", false,
        [](A a, F) {
          return resident(a, {Category::parameters, Category::gradients, Category::optimizer});
        }}},
      {"parameter_bytes", {"parameters", false, [](A a, F) { return resident(a, {Category::parameters}); }}},
      {"gradient_bytes", {"gradients", false, [](A a, F) { return resident(a, {Category::gradients}); }}},
      {"optimizer_bytes", {"optimizer states", false, [](A a, F) { return resident(a, {Category::optimizer}); }}},
      {"weights_bytes", {"weights of the model", false, [](A a, F) { return weights(a); }}},
      {"wire_bytes", {"bytes sent along", false, [](A a, F f) { return wire(axis_of(a, f.detail)); }}},
      {"wire_share",
       {"bytes sent for each byte along", false,
        [](A a, F f) {
          const result::Communication* c = axis_of(a, f.detail);
          return c ? wire(c) / static_cast<double>(c->bytes) : 0;
        }}},
      {"network_bytes", {"bytes over a GPU's network card", false, [](A a, F) { return network_bytes(a); }}},
      {"rows",
       {"rows of", false,
        [](A a, F f) {
          const plan::Matmul* matmul = matmul_of(a, f.detail);
          return matmul ? double(matmul->m) : 0;
        }}},
      {"columns",
       {"columns of", false,
        [](A a, F f) {
          const plan::Matmul* matmul = matmul_of(a, f.detail);
          return matmul ? double(matmul->n) : 0;
        }}},
      {"first_layer", {"first layer of stage", false, [](A a, F f) { return double(layers_of(a, f.stage).first); }}},
      {"last_layer", {"last layer of stage", false, [](A a, F f) { return double(layers_of(a, f.stage).second); }}},
      {"tp", {"tp", false, [](A a, F) { return double(a.job.strategy.tp); }}},
      {"pp", {"pp", false, [](A a, F) { return double(a.job.strategy.pp); }}},
      {"nvlink_bandwidth",
       {"NVLink of a GPU, both directions, GB/s", false,
        [](A a, F) { return 2 * a.job.cluster.node.nvlink.bandwidth.si() / 1e9; }}},
      {"node_network",
       {"network of a node, Gb/s", false,
        [](A a, F) { return 8 * a.job.cluster.node.nic.bandwidth.si() * a.job.cluster.node.nic.count / 1e9; }}},
  };
  return all;
}

/// The answer that a figure names; `best` is of the sweep. nullptr, and a failed test, when there is none.
inline const Answer* answer_named(const Claim& claim, const std::string& name) {
  if (name == "best" && !claim.sweep.empty()) {
    const Answer* best = best_of(claim.sweep);
    if (!best) ADD_FAILURE() << claim.id << ": nothing of the sweep fits";
    return best;
  }
  for (const auto& [known, tree] : claim.jobs) {
    if (known != name) continue;
    if (const std::optional<Answer>& found = answer(tree)) return &*found;
    try {
      (void)config::read_job(tree, catalogue());
    } catch (const base::InputError& fault) {
      ADD_FAILURE() << claim.id << ": " << fault.what();
    }
    return nullptr;
  }
  ADD_FAILURE() << claim.id << ": there is no job '" << name << "'";
  return nullptr;
}

/// What forerun answers to a statement.
inline double value_of(const Claim& claim) {
  const auto at = quantities().find(claim.figure.of);
  if (at == quantities().end()) {
    ADD_FAILURE() << claim.id << ": there is no quantity '" << claim.figure.of << "'";
    return 0;
  }
  const Answer* job = answer_named(claim, claim.figure.job);
  if (!job) return 0;
  const double value = at->second.value(*job, claim.figure) / claim.figure.per;
  if (claim.figure.over.empty()) return value;
  const Answer* over = answer_named(claim, claim.figure.over);
  return over ? value / at->second.value(*over, claim.figure) : 0;
}

}  // namespace claims
