// SPDX-License-Identifier: Apache-2.0
#include "sim/search/pass_sections.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "sim/engine/engine.h"

namespace sim {
namespace {

/// Links that operators of a kind hold (resource::kLinks).
std::uint8_t links_of(const plan::GroupShape& group) {
  std::uint8_t out = 0;
  if (group.per_domain > 1) out |= resource::kNvlinkIn | resource::kNvlinkOut;
  if (group.domains > 1) out |= resource::kNicIn | resource::kNicOut;
  return out;
}
std::uint8_t links_of(const plan::Transfer& transfer) {
  return transfer.crosses_domain ? resource::kNicIn | resource::kNicOut : resource::kNvlinkIn | resource::kNvlinkOut;
}

bool same_links(const PassSection& a, const PassSection& b) {
  return a.on_exchange_link == b.on_exchange_link && a.on_transfer_link == b.on_transfer_link && a.waits == b.waits;
}
double mean(double a, double b, double share) { return a + (b - a) * share; }
Beside mean(const Beside& a, const Beside& b, double share) {
  return {mean(a.pass, b.pass, share), mean(a.other, b.other, share)};
}

/// Of a pass that so far has `sections`, the next one. Where no link is shared the mean of neighbours does for both.
void append(const PassSection& next, std::vector<PassSection>& sections) {
  if (sections.empty() || !same_links(sections.back(), next)) return sections.push_back(next);
  PassSection& last = sections.back();
  const double begin = sections.size() > 1 ? sections[sections.size() - 2].end : 0;
  const double share = (next.end - last.end) / (next.end - begin);
  last.exchange = mean(last.exchange, next.exchange, share);
  last.transfer = mean(last.transfer, next.transfer, share);
  last.end = next.end;
}

}  // namespace

std::vector<PassSection> sections_of(const plan::Context& c, const std::vector<Stretch>& stretches) {
  const spec::Calibration& calibration = c.job.cluster.node.calibration;
  const double kernels = std::max(1.0, calibration.compute_slowdown), other = std::max(1.0, calibration.comm_slowdown);
  const std::uint8_t exchange = links_of(c.group(c.shard_axis)), transfer = links_of(c.stage_transfer);
  const auto has = [&](std::size_t i, std::uint8_t what) {
    return i < stretches.size() && (stretches[i].held & what) != 0;
  };
  std::vector<PassSection> out;
  for (std::size_t i = 0; i < stretches.size(); ++i) {
    const bool computes = has(i, resource::kCompute), flies = has(i, resource::kCommunication);
    // Kernels beside communication that outlasts them are not what is waited for.
    const bool outlasts = has(i + 1, resource::kCommunication) && !has(i + 1, resource::kCompute);
    const bool shares = has(i, exchange | transfer);
    const Beside beside{computes && !flies ? kernels : 1, computes ? other : 1};
    append({stretches[i].end, beside, beside, has(i, exchange), has(i, transfer), shares && (!computes || outlasts)},
           out);
  }
  return out;
}

}  // namespace sim
