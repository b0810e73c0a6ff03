// SPDX-License-Identifier: Apache-2.0
#include "sim/pricing/flatten.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <stdexcept>
#include <tuple>
#include <utility>
#include <variant>

#include "core/base/fault.h"
#include "core/base/normal.h"
#include "core/plan/channel_name.h"
#include "core/plan/kinds.h"
#include "sim/cost/host_time.h"
#include "sim/engine/lateness.h"
#include "sim/engine/rolling.h"
#include "sim/network/path.h"

namespace sim {
namespace {

/// Links that an operator occupies on the rank that runs it.
std::uint8_t resources_of(const plan::Work& work, plan::Stream stream, const spec::Node& node) {
  using namespace resource;
  if (const auto* collective = std::get_if<plan::Collective>(&work)) {
    std::uint8_t held = collective->copy_engine ? 0 : kCommunication;
    if (collective->group.per_domain > 1) held |= kNvlinkIn | kNvlinkOut;
    if (collective->group.domains > 1) held |= kNicIn | kNicOut;
    return collective->group.size > 1 ? held : 0;
  }
  if (const auto* transfer = std::get_if<plan::Transfer>(&work)) {
    const bool sends = stream == plan::Stream::send_next || stream == plan::Stream::send_prev;
    const std::uint8_t link = transfer->crosses_domain ? (sends ? kNicOut : kNicIn) : (sends ? kNvlinkOut : kNvlinkIn);
    return takes_sms(*transfer, node) ? kCommunication | link : link;
  }
  return std::holds_alternative<plan::HostSync>(work) || std::holds_alternative<plan::RatedCopy>(work) ? 0 : kCompute;
}

/// Where the GPUs of a node meet over PCIe, copies to and from the host share each GPU's link with them.
std::uint8_t host_link_of(plan::Stream stream, const spec::Cluster& cluster) {
  if (cluster.node.nvlink.via != spec::Switch::none) return 0;
  if (stream == plan::Stream::to_device) return resource::kNvlinkIn;
  return stream == plan::Stream::to_host ? resource::kNvlinkOut : 0;
}

/// What a rank pays for each work, and how slow its host is.
struct Pace {
  Prices prices;
  double host = 1;
};

/// The host waits for it before it issues more. A launch that blocks on one of two transfers between stages would keep
/// back the other, so frameworks group them: what reads them waits.
bool holds_host(const plan::Operator& op, const plan::Work& work, const spec::Job& job) {
  if (std::holds_alternative<plan::HostSync>(work)) return true;
  if (job.framework.synchronizes_each_reduce && op.stream == plan::Stream::dp) return true;
  return job.strategy.launch_blocking && !std::holds_alternative<plan::Transfer>(work);
}

Step step_of(const plan::Operator& op, const plan::Plan& plan, const Pace& pace, const spec::Job& job) {
  const plan::Work& work = plan.works[op.work];
  Step step;
  step.duration = to_ticks(pace.prices[op.work]);
  step.host = to_ticks(host_time(op, plan, job, pace.host));
  step.channel = op.channel;
  step.stream = static_cast<std::uint8_t>(op.stream);
  step.resources = resources_of(work, op.stream, job.cluster.node);
  if (std::holds_alternative<plan::RatedCopy>(work)) step.resources = host_link_of(op.stream, job.cluster);
  step.synchronizes = holds_host(op, work, job);
  step.waits = op.waits;
  step.records = op.records;
  if (const auto* collective = std::get_if<plan::Collective>(&work)) {
    step.members = collective->group.size;
    step.hops = collective->kind == plan::CollectiveKind::shift;
  }
  return step;
}

/// No operator in a plan can wait longer than for all the others, one after the other, at the slowest pace there is.
/// What could pass the engine's clock by that measure is refused, for past it the clock would wrap without a word.
void check_horizon(const plan::Plan& plan, const Pace& pace, const spec::Job& job) {
  const spec::Calibration& calibration = job.cluster.node.calibration;
  double slowest = 1;
  const double jitter = (job.simulation.jitter + calibration.power.jitter) * base::kMostDeviations * plan::kStreams;
  for (const spec::SlowRank& slow : job.simulation.slow_ranks) slowest *= std::max(1.0, slow.factor);
  slowest *= std::max({1.0, calibration.compute_slowdown, calibration.comm_slowdown}) * (1 + jitter);
  std::vector<double> device, host;  // seconds of each segment
  for (const plan::Segment& segment : plan.segments) {
    device.push_back(0);
    host.push_back(0);
    for (const plan::Operator& op : segment.operators) {
      device.back() += pace.prices[op.work].si();
      host.back() += host_time(op, plan, job, pace.host).si();
    }
  }
  double longest = job.framework.step.si();
  for (const plan::Role& role : plan.roles) {
    for (const plan::Call& call : role.calls) longest += device[call.segment] * slowest + host[call.segment];
  }
  if (longest * trace::kTicksPerSecond < static_cast<double>(kHorizon)) return;
  throw base::InputError(
      {{"cluster.node", "its speeds could make this step last longer than the 6 days that can be simulated",
        "check the rates of node, gpu and framework, sequence and global_batch for a digit too many or "
        "too few"}});
}

/// The instances that share a meeting are those with equal keys.
using Key = std::tuple<int, int, int>;

Key meeting_key(const plan::Channel& channel, int number, const plan::Plan& plan, int stage, int rank) {
  const int place = plan.axes.place_of(rank);
  switch (channel.kind) {
    case plan::Channel::Kind::group: return {number, stage, plan.axes[channel.axis].group_of(place)};
    case plan::Channel::Kind::forward_edge:
    case plan::Channel::Kind::backward_edge:
    case plan::Channel::Kind::embedding:
    case plan::Channel::Kind::copies:
    case plan::Channel::Kind::stages: return {number, -1, place};
    case plan::Channel::Kind::model: return {number, -1, -1};
  }
  return {};
}

bool takes_part(const plan::Channel& channel, int stage) {
  switch (channel.kind) {
    case plan::Channel::Kind::group:
    case plan::Channel::Kind::stages:
    case plan::Channel::Kind::model: return true;
    default: return stage == channel.from || stage == channel.to;
  }
}

void add_meetings(EngineInput& in) {
  const plan::Plan& plan = *in.plan;
  const std::size_t channels = plan.channels.size();
  in.meeting_of.assign(in.instances.size() * channels, -1);
  std::map<Key, std::int32_t> known;
  for (std::size_t i = 0; i < in.instances.size(); ++i) {
    const Instance& instance = in.instances[i];
    const int stage = plan.roles[instance.role].stage;
    for (std::size_t c = 0; c < channels; ++c) {
      const plan::Channel& channel = plan.channels[c];
      if (!takes_part(channel, stage)) continue;
      // Folded, the other ranks of a group do as this one does at the same instant.
      if (in.folded && channel.kind == plan::Channel::Kind::group) continue;
      const Key key = in.folded ? Key{static_cast<int>(c), -1, -1}
                                : meeting_key(channel, static_cast<int>(c), plan, stage, instance.rank);
      const auto [it, fresh] = known.try_emplace(key, static_cast<std::int32_t>(in.meeting_size.size()));
      if (fresh) in.meeting_size.push_back(0);
      in.meeting_of[i * channels + c] = it->second;
      ++in.meeting_size[it->second];
    }
  }
}

/// The steps of all segments for each set of kinds of node that instances stand on, at the slowest kind's pace.
class Variants {
 public:
  Variants(EngineInput& in, const std::vector<Prices>& by_kind, const spec::Job& job)
      : in_(in), by_kind_(by_kind), job_(job) {}

  int of(const std::vector<int>& kinds) {
    const auto [it, fresh] = known_.try_emplace(kinds, static_cast<int>(known_.size()));
    if (fresh) add(kinds);
    return it->second;
  }

 private:
  void add(const std::vector<int>& kinds) {
    Pace slowest{by_kind_[kinds.front()], 0};
    for (const int kind : kinds) {
      Prices& all = slowest.prices;
      for (std::size_t w = 0; w < all.size(); ++w) all[w] = std::max(all[w], by_kind_[kind][w]);
      if (kind >= job_.cluster.kinds()) continue;  // a condition of the network
      const spec::Host& host = job_.cluster.node_of(kind).host;
      slowest.host = std::max(slowest.host, slowdown_of(host, job_.framework));
    }
    check_horizon(*in_.plan, slowest, job_);
    for (const plan::Segment& segment : in_.plan->segments) {
      in_.segment_begin.push_back(static_cast<std::int32_t>(in_.steps.size()));
      for (const plan::Operator& op : segment.operators) in_.steps.push_back(step_of(op, *in_.plan, slowest, job_));
    }
    in_.segment_begin.push_back(static_cast<std::int32_t>(in_.steps.size()));
  }

  EngineInput& in_;
  const std::vector<Prices>& by_kind_;
  const spec::Job& job_;
  std::map<std::vector<int>, int> known_;
};

}  // namespace

Ticks to_ticks(base::Seconds time) { return std::llround(time.si() * trace::kTicksPerSecond); }

EngineInput flatten(const plan::Plan& plan, const Prices& prices, const spec::Job& job) {
  return flatten(plan, std::vector<Prices>(1, prices), job);
}

EngineInput flatten(const plan::Plan& plan, const std::vector<Prices>& by_kind, const spec::Job& job,
                    const std::vector<Condition>& conditions) {
  EngineInput in;
  in.plan = &plan;
  const spec::Simulation& simulation = job.simulation;
  in.folded = !simulation.unfold && simulation.slow_ranks.empty();
  Variants variants(in, by_kind, job);
  for (std::size_t r = 0; r < plan.roles.size(); ++r) {
    const plan::Role& role = plan.roles[r];
    const int ranks = in.folded ? 1 : role.ranks;
    for (int k = 0; k < ranks; ++k) {
      Instance instance;
      instance.role = static_cast<int>(r);
      instance.rank = plan::rank_of(plan, role, k);
      std::vector<int> kinds = in.folded ? plan::kinds_of(plan, role, job.cluster)
                                         : std::vector<int>{job.cluster.kind_of_rank(instance.rank)};
      const std::size_t usual = kinds.size();
      for (std::size_t c = 0; c < conditions.size(); ++c) {
        const bool touched = in.folded ? touches(conditions[c], plan, role, job.cluster)
                                       : conditions[c].touches[instance.rank / job.cluster.node.gpus];
        if (touched) kinds.push_back(job.cluster.kinds() + static_cast<int>(c));
      }
      instance.variant = variants.of(kinds);
      instance.recorded = k == 0;
      for (const spec::SlowRank& slow : simulation.slow_ranks) {
        if (slow.rank == instance.rank) instance.compute_factor *= slow.factor;
      }
      instance.recorded |= instance.compute_factor != 1 || kinds.size() > usual;
      in.instances.push_back(instance);
    }
  }
  add_meetings(in);
  // A training loop's own work between steps (data, logging) is not a serving engine's.
  in.host_start = job.training.serves() ? 0 : to_ticks(job.framework.step);
  for (int kind = 0; kind < job.cluster.kinds(); ++kind) {
    const spec::Calibration& calibration = job.cluster.node_of(kind).calibration;
    in.compute_slowdown = std::max(in.compute_slowdown, calibration.compute_slowdown);
    in.communication_slowdown = std::max(in.communication_slowdown, calibration.comm_slowdown);
    in.kernel_jitter = std::max(in.kernel_jitter, calibration.power.jitter);
  }
  // Deviations that are independent of one another add by their squares; what each rank draws by itself its collectives
  // wait for as it comes.
  in.sampled_jitter = in.folded ? 0 : simulation.jitter;
  in.kernel_jitter = std::hypot(in.kernel_jitter, simulation.jitter) - in.sampled_jitter;
  wait_for_the_latest(in);
  in.seed = simulation.seed;
  return in;
}

namespace {

EngineOutput run_to_its_end(const EngineInput& in) {
  EngineOutput out = run(in);
  if (out.deadlocked) throw std::logic_error("the plan's operators wait for one another for ever");
  return out;
}

}  // namespace

trace::Trace simulate(const plan::Plan& plan, const EngineInput& in) { return to_trace(plan, in, run_to_its_end(in)); }

Ticks length_of(const plan::Plan& plan, EngineInput in) {
  std::vector<std::size_t> shown;
  for (std::size_t i = 0; i < in.instances.size(); ++i) {
    if (in.instances[i].recorded) shown.push_back(i);
    in.instances[i].recorded = false;
  }
  const EngineOutput out = run_to_its_end(in);
  if (!plan.rolling) return out.end;
  std::vector<Reach> reach;
  for (const std::size_t i : shown) reach.push_back(out.reach[i]);
  return rolling_length(reach);
}

trace::Trace to_trace(const plan::Plan& plan, const EngineInput& in, EngineOutput&& out) {
  trace::Trace trace;
  trace.names = plan.names;
  trace.phases.assign(plan::kPhaseNames.begin(), plan::kPhaseNames.end());
  for (const plan::Channel& channel : plan.channels) trace.channels.emplace_back(plan::channel_name(channel));
  trace.streams = plan::kStreams;
  trace.length = out.end;
  std::vector<const plan::Operator*> operators;
  for (const plan::Segment& segment : plan.segments) {
    for (const plan::Operator& op : segment.operators) operators.push_back(&op);
  }
  for (std::size_t i = 0; i < in.instances.size(); ++i) {
    const Instance& instance = in.instances[i];
    if (!instance.recorded) continue;
    const plan::Role& role = plan.roles[instance.role];
    for (int s = 0; s < plan::kStreams; ++s) {
      trace::Track& track = trace.tracks.emplace_back();
      track.rank = instance.rank;
      track.stage = role.stage;
      track.stream = plan::kStreamNames[s];
      track.spans = std::move(out.spans[i * plan::kStreams + s]);
      for (trace::Span& span : track.spans) {
        const std::int32_t first = in.first_operator.empty() ? span.work : in.first_operator[span.work];
        const plan::Operator& op = *operators[first % operators.size()];
        const plan::Call& call = role.calls[span.microbatch];
        span.name = op.name;
        span.work = op.work;
        span.layer = op.layer;
        span.phase = static_cast<std::uint8_t>(op.phase);
        span.channel = op.channel;
        const bool other = call.other >= 0 && op.phase != plan::Phase::forward;
        span.microbatch = other ? call.other : call.microbatch;
        span.chunk = other ? call.other_chunk : call.chunk;
      }
    }
  }
  if (plan.rolling) roll(trace);
  return trace;
}

}  // namespace sim
