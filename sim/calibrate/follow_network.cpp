// SPDX-License-Identifier: Apache-2.0
#include "sim/calibrate/follow_network.h"

#include <fmt/format.h>

#include <algorithm>

#include "sim/calibrate/measured_row.h"

namespace sim {
namespace {

using spec::PathCurve;

bool same(const spec::LowLatency& a, const spec::LowLatency& b) { return a.latency == b.latency && a.hop == b.hop; }

bool alike(const PathCurve& a, const PathCurve& b) {
  return a.latency == b.latency && a.hop == b.hop && a.ramp == b.ramp && a.local == b.local &&
         same(a.low_latency, b.low_latency) && same(a.ll128, b.ll128);
}

bool same_pace(const PathCurve& a, const PathCurve& b) {
  return a.efficiency == b.efficiency && a.decay == b.decay && a.low_latency.efficiency == b.low_latency.efficiency &&
         a.ll128.efficiency == b.ll128.efficiency;
}

double share_scaled(double own, double before, double now) {
  return before == now || before <= 0 ? own : std::min(1.0, rounded(own * now / before));
}

void take(PathCurve& own, const PathCurve& before, const PathCurve& now) {
  own.efficiency = share_scaled(own.efficiency, before.efficiency, now.efficiency);
  own.latency = now.latency;
  own.hop = now.hop;
  own.ramp = now.ramp;
  own.local = now.local;
  if (own.decay == before.decay) own.decay = now.decay;
  const auto protocol = [](spec::LowLatency& mine, const spec::LowLatency& was, const spec::LowLatency& is) {
    mine = {share_scaled(mine.efficiency, was.efficiency, is.efficiency), is.latency, is.hop};
  };
  protocol(own.low_latency, before.low_latency, now.low_latency);
  protocol(own.ll128, before.ll128, now.ll128);
}

}  // namespace

std::vector<std::string> follow(const std::map<std::string, spec::NetworkCalibration>& before,
                                std::map<std::string, spec::NetworkCalibration>& now,
                                const std::set<std::string>& with_rows) {
  std::vector<std::string> told;
  for (auto& [name, network] : now) {
    for (const spec::CurveName& key : spec::kCurveNames) {
      PathCurve& own = network.*key.curve;
      if (!own.offered() || own.measured || with_rows.contains(name + ' ' + key.key)) continue;
      for (const auto& [leader, led] : before) {
        const PathCurve &was = led.*key.curve, &is = now.at(leader).*key.curve;
        if (leader == name || !is.measured || !was.offered() || !alike(own, was)) continue;
        if (alike(was, is) && same_pace(was, is)) continue;
        take(own, was, is);
        told.push_back(fmt::format("{} {}: as {} {}", name, key.key, leader, key.key));
        break;
      }
    }
  }
  return told;
}

}  // namespace sim
