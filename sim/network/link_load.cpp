// SPDX-License-Identifier: Apache-2.0
#include "sim/network/link_load.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <variant>

#include "core/plan/channel_name.h"
#include "sim/network/traffic.h"
#include "sim/network/wires.h"

namespace sim {
namespace {

using plan::CollectiveKind;

/// How often each work is communicated over each channel, in the role that does so most.
using Calls = std::map<std::pair<int, int>, double>;  // by channel and work

bool receives(plan::Stream stream) { return stream == plan::Stream::recv_prev || stream == plan::Stream::recv_next; }

Calls calls_of(const plan::Plan& plan) {
  Calls most;
  for (const plan::Role& role : plan.roles) {
    std::vector<double> times(plan.segments.size(), 0);
    for (const plan::Call& call : role.calls) times[static_cast<std::size_t>(call.segment)] += 1;
    Calls here;
    for (std::size_t s = 0; s < plan.segments.size(); ++s) {
      if (times[s] == 0) continue;
      for (const plan::Operator& op : plan.segments[s].operators) {
        if (op.channel >= 0 && !receives(op.stream)) here[{op.channel, op.work}] += times[s];
      }
    }
    for (const auto& [key, count] : here) most[key] = std::max(most[key], count);
  }
  return most;
}

/// What a ring between islands (all_to_all: a pair of members) carries.
double between_islands(const plan::Collective& c) {
  const double n = c.group.size, bytes = static_cast<double>(c.bytes);
  switch (c.kind) {
    case CollectiveKind::all_reduce: return 2 * (n - 1) / n * bytes;
    case CollectiveKind::all_gather:
    case CollectiveKind::reduce_scatter: return (n - 1) / n * bytes;
    case CollectiveKind::all_to_all: {
      const double even = (n - c.group.per_domain) / n * bytes;  // of a rank, to other islands
      return bytes / n * (c.crossing >= 0 && even > 0 ? static_cast<double>(c.crossing) / even : 1);
    }
    default: return bytes;
  }
}

/// What each member sends to its neighbour in the island, as a ring of them.
double inside_islands(const plan::Collective& c) {
  if (c.kind != CollectiveKind::all_to_all) return between_islands(c);
  return static_cast<double>(c.bytes) * (c.group.per_domain - 1) / c.group.size;
}

Pattern pattern_of(CollectiveKind kind) {
  if (kind == CollectiveKind::all_to_all) return Pattern::all_to_all;
  return kind == CollectiveKind::shift ? Pattern::shift : Pattern::ring;
}

class Loads {
 public:
  explicit Loads(const spec::Job& job)
      : cluster_(job.cluster),
        cards_(job.cluster, job.simulation),
        wires_(job.cluster, job.simulation),
        uneven_(job.simulation.any() || wires_.uneven()) {}

  void add(const std::string& axis, const plan::Collective& c, double count) {
    if (c.group.layout.ranks < 1 || c.group.size < 2) return;
    put(axis, traffic_between(pattern_of(c.kind), c.group, cluster_, cards_, uneven_), between_islands(c) * count);
    put(axis, traffic_inside(c.group, cluster_), inside_islands(c) * count);
  }

  void add(const std::string& axis, const plan::Transfer& t, double count) {
    if (t.layout.ranks < 1) return;
    const plan::GroupShape pair{2, 1, 2, t.sharing, t.layout};
    put(axis, traffic_between(Pattern::send, pair, cluster_, cards_, uneven_), static_cast<double>(t.bytes) * count);
  }

  std::vector<result::LinkLoad> busiest(double step_s) const {
    std::map<std::pair<std::string, std::string>, result::LinkLoad> of;  // by kind of link and axis
    for (const auto& [axis, links] : bytes_) {
      for (const auto& [link, bytes] : links) {
        std::string kind = wires_.name(link);
        kind.resize(kind.rfind(' '));
        result::LinkLoad& load = of[{kind, axis}];
        const double capacity = wires_.capacity(link).si(), busy = bytes / capacity / step_s;
        if (busy > load.busy) load = {kind, axis, bytes, capacity, busy};
      }
    }
    std::vector<result::LinkLoad> out;
    for (auto& [key, load] : of) {
      if (load.busy > 0) out.push_back(std::move(load));
    }
    return out;
  }

 private:
  void put(const std::string& axis, const Traffic& traffic, double bytes) {
    for (const Flow& flow : traffic.flows) {
      route_.clear();
      wires_.route(flow.source, flow.target, route_);
      for (const Wires::Link link : route_) bytes_[axis][link] += flow.volume * bytes;
    }
  }

  const spec::Cluster& cluster_;
  Cards cards_;
  Wires wires_;
  bool uneven_;
  std::vector<Wires::Link> route_;
  std::map<std::string, std::map<Wires::Link, double>> bytes_;
};

}  // namespace

std::vector<result::LinkLoad> link_loads(const plan::Plan& plan, const spec::Job& job, double step_s) {
  Loads loads(job);
  for (const auto& [key, count] : calls_of(plan)) {
    const std::string axis(plan::channel_name(plan.channels[static_cast<std::size_t>(key.first)]));
    const plan::Work& work = plan.works[static_cast<std::size_t>(key.second)];
    if (const auto* collective = std::get_if<plan::Collective>(&work)) loads.add(axis, *collective, count);
    if (const auto* transfer = std::get_if<plan::Transfer>(&work)) loads.add(axis, *transfer, count);
  }
  return loads.busiest(step_s);
}

}  // namespace sim
