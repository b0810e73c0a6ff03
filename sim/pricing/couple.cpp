// SPDX-License-Identifier: Apache-2.0
#include "sim/pricing/couple.h"

#include <algorithm>
#include <map>
#include <memory>
#include <utility>

#include "sim/network/cards.h"
#include "sim/network/cargo.h"
#include "sim/network/flow.h"
#include "sim/network/traffic.h"
#include "sim/network/wires.h"
#include "sim/pricing/flatten.h"

namespace sim {
namespace {

using plan::Channel;

/// Collects sets of flows; instances that put the same flows on the fabric by the same work share one.
class Coupler {
 public:
  Coupler(const EngineInput& in, const spec::Job& job)
      : in_(in),
        plan_(*in.plan),
        cluster_(job.cluster),
        cards_(cluster_, job.simulation),
        wires_(cluster_, job.simulation),
        piping_(wires_, base::ByteRate(1)) {}

  /// -1: all that it sends stays inside islands.
  int set_of(const Instance& sender, const Crossing& crossing, const Channel& channel) {
    return crossing.pattern == Pattern::send ? transfer(sender, channel) : share_of(sender, crossing);
  }
  Cargo stowed() const { return sim::stowed(piping_.fluid, sets_); }

 private:
  /// Instances are told apart by their stage, or unfolded by their rank.
  int key_of(const Instance& i) const { return in_.folded ? plan_.roles[i.role].stage : i.rank; }
  int key_of(int rank) const { return in_.folded ? plan_.axes.stage_of(rank) : rank; }

  int transfer(const Instance& sender, const Channel& channel) {
    if (plan_.roles[sender.role].stage != channel.from) return -1;
    const auto [at, fresh] = transfers_.try_emplace({key_of(sender), channel.to}, -1);
    if (!fresh) return at->second;
    std::vector<Flow> flows;
    const int places = in_.folded ? plan_.axes.ranks : 1, first = in_.folded ? 0 : plan_.axes.place_of(sender.rank);
    for (int place = first; place < first + places; ++place) {
      flows.push_back({plan_.axes.rank_of(channel.from, place), plan_.axes.rank_of(channel.to, place), 1});
    }
    return at->second = add(flows, 1);
  }

  int share_of(const Instance& sender, const Crossing& crossing) {
    const auto [at, fresh] = shares_.try_emplace({crossing.pattern, crossing.group});
    if (fresh) {
      const Traffic all = traffic_between(crossing.pattern, crossing.group, cluster_, cards_, true);
      std::map<int, std::vector<Flow>> flows;
      for (const Flow& flow : all.flows) flows[key_of(flow.source)].push_back(flow);
      for (const auto& [key, of_one] : flows) at->second[key] = add(of_one, all.busiest);
    }
    const auto share = at->second.find(key_of(sender));
    return share == at->second.end() ? -1 : share->second;
  }

  int add(const std::vector<Flow>& flows, double busiest) {
    const int island = cluster_.node.island();
    const std::size_t before = piping_.fluid.flows();
    for (const Flow& flow : flows) {
      if (flow.source / island == flow.target / island) continue;
      piping_.add(flow, flow.volume / busiest);
      piping_.fluid.kinds.push_back(sets_);
    }
    return piping_.fluid.flows() == before ? -1 : sets_++;
  }

  const EngineInput& in_;
  const plan::Plan& plan_;
  const spec::Cluster& cluster_;
  const Cards cards_;
  const Wires wires_;
  Piping piping_;
  int sets_ = 0;
  std::map<std::pair<int, int>, int> transfers_;                               // sender, receiving stage
  std::map<std::pair<Pattern, plan::GroupShape>, std::map<int, int>> shares_;  // by sender
};

/// The time its flows take at least: on an idle fabric that no switch narrows.
base::Seconds flowing(const Crossing& c, const spec::Cluster& cluster) {
  const bool of_one = c.pattern == Pattern::send || c.pattern == Pattern::shift;
  return c.wire / nic_rate(cluster, of_one ? 1 : c.group.per_domain, 1);
}

/// Of the latency: bytes that take less are not worth their flows. A gradient norm's four bytes, all-reduced by every
/// rank in trees that treat no two nodes alike, would keep all flows of the step from being folded.
constexpr double kNegligible = 1e-3;

bool flows(const Crossing& c, const spec::Cluster& cluster) {
  return c.group.layout.ranks > 0 && c.wire.si() > 0 && flowing(c, cluster) > c.start * kNegligible;
}

}  // namespace

void couple(EngineInput& in, const spec::Job& job, const std::vector<Crossing>& crossings) {
  std::vector<const plan::Operator*> operators;
  for (const plan::Segment& segment : in.plan->segments) {
    for (const plan::Operator& op : segment.operators) operators.push_back(&op);
  }
  std::map<std::pair<std::int32_t, std::int16_t>, std::int16_t> known;  // (work, channel)
  for (std::size_t i = 0; i < in.steps.size(); ++i) {
    const plan::Operator& op = *operators[i % operators.size()];
    const Crossing& crossing = crossings[static_cast<std::size_t>(op.work)];
    if (op.channel < 0 || !flows(crossing, job.cluster)) continue;
    Step& step = in.steps[i];
    step.crossing = known.try_emplace({op.work, op.channel}, static_cast<std::int16_t>(known.size())).first->second;
    step.duration = to_ticks(crossing.start + std::max(crossing.inside, flowing(crossing, job.cluster)));
    step.resources = static_cast<std::uint8_t>(step.resources & ~(resource::kNicIn | resource::kNicOut));
  }
  if (known.empty()) return;
  in.crossings = static_cast<std::int32_t>(known.size());
  in.loads.resize(in.instances.size() * known.size());
  Coupler coupler(in, job);
  for (std::size_t i = 0; i < in.instances.size(); ++i) {
    for (const auto& [what, number] : known) {
      const Crossing& crossing = crossings[static_cast<std::size_t>(what.first)];
      const int set =
          coupler.set_of(in.instances[i], crossing, in.plan->channels[static_cast<std::size_t>(what.second)]);
      in.loads[i * known.size() + static_cast<std::size_t>(number)] = {set, crossing.wire.si(),
                                                                       to_ticks(crossing.start)};
    }
  }
  in.carrier = std::make_shared<SimGridCarrier>(coupler.stowed());
}

}  // namespace sim
