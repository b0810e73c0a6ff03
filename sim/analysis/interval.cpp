// SPDX-License-Identifier: Apache-2.0
#include "sim/analysis/interval.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "core/plan/context.h"
#include "sim/analysis/exposure.h"

namespace sim {
namespace {

using result::IntervalContribution;

constexpr const char* kScarceCause = "steps with ";

bool applies(spec::Scarce part, const spec::Job& job) {
  const spec::Strategy& s = job.strategy;
  switch (part) {
    case spec::Scarce::experts: return job.model.moe.has_value();
    case spec::Scarce::context_parallel: return s.cp > 1;
    case spec::Scarce::zero3: return !job.training.serves() && plan::Context(job).fully_sharded;
    case spec::Scarce::offload: return s.offload.any();
    case spec::Scarce::adapters: return s.lora.has_value();
    case spec::Scarce::layer_list: return job.model.is_list();
    case spec::Scarce::mixed_cluster: return job.cluster.mixed();
    case spec::Scarce::serving: return job.training.serves();
    case spec::Scarce::indexer: return job.model.indexer.has_value();
  }
  return false;
}

/// "context_parallel" in words.
std::string cause_of(spec::Scarce part) {
  std::string name(spec::kScarceNames[static_cast<int>(part)]);
  std::replace(name.begin(), name.end(), '_', ' ');
  return kScarceCause + name;
}

bool names_attention(const std::string& assumption) { return assumption.starts_with("attention_kernel"); }

constexpr const char* kEagerNorm = "eager_norm kernels";  // as exposure() names their family
bool names_eager_norm(const std::string& assumption) { return assumption.starts_with("fused_kernels.norm: false"); }

/// What the rest of the Job, or the model's name, leaves no choice about.
bool follows(const std::string& assumption) {
  const auto is = [&](std::string_view field) { return assumption.starts_with(field); };
  return is("dp:") || is("vocab:") || is("moe_imbalance:") || is("model.");
}

/// What curves and rates are off by, over the busy time of the slowest stage.
std::vector<IntervalContribution> of_curves(const std::map<std::string, Exposed>& exposed, double busy) {
  std::vector<IntervalContribution> out;
  for (const auto& [cause, part] : exposed) {
    out.push_back({cause, part.time_s / busy, part.error_s / busy, part.error_s / busy});
  }
  return out;
}

/// The clock under power divides what matmuls and attention calculate, all alike.
void add_clock(const spec::Job& job, const std::map<std::string, Exposed>& exposed, double busy,
               std::vector<IntervalContribution>& out) {
  double kernels = 0;
  for (const auto& [cause, part] : exposed) {
    if (cause.starts_with("matmul ") || cause.starts_with("attention ")) kernels += part.time_s / busy;
  }
  const double error = kernels * job.cluster.node.calibration.power.residual;
  out.push_back({"sustained clock", kernels, error, error});
}

/// What the Job left open; the attention kernel acts on attention alone, and a norm that is one kernel makes a step
/// faster.
void add_assumptions(const spec::Job& job, const std::map<std::string, Exposed>& exposed, double busy,
                     std::vector<IntervalContribution>& out) {
  const auto attention = std::count_if(job.assumptions.begin(), job.assumptions.end(), names_attention);
  double kernels = 0;
  for (const auto& [cause, part] : exposed) kernels += cause.starts_with("attention ") ? part.time_s / busy : 0;
  if (attention > 0 && job.training.mode != spec::Mode::decode) {  // which waits for its cache, whatever the kernel
    const double error = kernels * job.uncertainty.assumed_attention;
    out.push_back({"assumed attention kernel", kernels, error, error});
  }
  const auto norms = exposed.find(kEagerNorm);
  if (norms != exposed.end() && std::ranges::any_of(job.assumptions, names_eager_norm)) {
    const double share = norms->second.time_s / busy;
    out.push_back({"norms by the operation assumed", share, share * job.uncertainty.assumed_norm, 0});
  }
  const auto computed = std::count_if(job.assumptions.begin(), job.assumptions.end(), follows);
  const double others = static_cast<double>(job.assumptions.size()) - static_cast<double>(attention + computed);
  const double error = std::sqrt(others) * job.uncertainty.assumed_option;
  out.push_back({"other assumptions", 1, error, error});
}

double half_width(const std::vector<IntervalContribution>& causes, double IntervalContribution::*side) {
  double variance = 0;
  for (const IntervalContribution& cause : causes) variance += cause.*side * cause.*side;
  return kTenth * std::sqrt(variance);
}

}  // namespace

bool is_scarce(const std::string& cause) { return cause.starts_with(kScarceCause); }

std::vector<IntervalContribution> interval_causes(const spec::Job& job, const EngineInput& in,
                                                  const trace::Trace& trace, std::size_t first,
                                                  const Breakdown& shares) {
  const std::map<std::string, Exposed> exposed = exposure(job, in, trace, first, shares);
  double busy = 0;
  for (const auto& [cause, part] : exposed) busy += part.time_s;

  std::vector<IntervalContribution> out;
  if (busy > 0) {
    out = of_curves(exposed, busy);
    add_clock(job, exposed, busy, out);
    add_assumptions(job, exposed, busy, out);
  }
  const spec::Uncertainty& u = job.uncertainty;
  out.push_back({kStackCause, 1, u.stack.faster, u.stack.slower});
  out.push_back({kUnmodelledCause, 1, u.unmodelled.faster, u.unmodelled.slower});
  out.push_back({"repeats of one step", 1, u.repeat, u.repeat});
  for (int i = 0; i < spec::kScarce; ++i) {
    const auto part = static_cast<spec::Scarce>(i);
    if (applies(part, job)) out.push_back({cause_of(part), 1, u.scarce[i].faster, u.scarce[i].slower});
  }
  std::erase_if(out, [](const auto& c) { return !(std::max(c.faster, c.slower) > 0) && !is_scarce(c.cause); });
  std::stable_sort(out.begin(), out.end(), [](const auto& a, const auto& b) {
    return std::max(a.faster, a.slower) > std::max(b.faster, b.slower);
  });
  return out;
}

Interval interval_of(const std::vector<IntervalContribution>& causes) {
  return {std::exp(-half_width(causes, &IntervalContribution::faster)),
          std::exp(half_width(causes, &IntervalContribution::slower))};
}

}  // namespace sim
