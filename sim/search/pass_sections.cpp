// SPDX-License-Identifier: Apache-2.0
#include "sim/search/pass_sections.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "sim/engine/engine.h"
#include "sim/network/path.h"

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
  const auto same = [](const SharedLink& x, const SharedLink& y) { return x.load == y.load && x.waits == y.waits; };
  return same(a.exchange_link, b.exchange_link) && same(a.transfer_link, b.transfer_link);
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

/// Tells when a pass in company is where it is at some time alone: at the same point of the same kernel.
class Clock {
 public:
  Clock(const Course& alone, const Course& beside) : alone_{0}, beside_{0} {
    for (std::size_t i = 0; i < alone.kernels.size(); ++i) note(alone.kernels[i], beside.kernels[i]);
    note(alone.stretches.back().end, beside.stretches.back().end);
  }
  double beside(double alone) const {
    const auto at = std::lower_bound(alone_.begin() + 1, alone_.end() - 1, alone) - alone_.begin();
    const auto i = static_cast<std::size_t>(at);
    const double length = alone_[i] - alone_[i - 1];
    const double share = length > 0 ? std::clamp((alone - alone_[i - 1]) / length, 0.0, 1.0) : 1;
    return mean(beside_[i - 1], beside_[i], share);
  }

 private:
  void note(double alone, double beside) {
    alone_.push_back(std::max(alone_.back(), alone));
    beside_.push_back(std::max(beside_.back(), beside));
  }
  std::vector<double> alone_, beside_;
};

/// Seconds between `from` and `to` in which one of the links is held.
double held(const std::vector<Stretch>& stretches, std::uint8_t links, double from, double to) {
  double out = 0, begin = 0;
  for (const Stretch& stretch : stretches) {
    if ((stretch.held & links) != 0) out += std::max(0.0, std::min(to, stretch.end) - std::max(from, begin));
    begin = stretch.end;
  }
  return out;
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
    const bool outlasts = has(i + 1, resource::kCommunication | exchange | transfer) && !has(i + 1, resource::kCompute);
    const bool waits = !computes || outlasts;
    const auto shared = [&](std::uint8_t links) {
      return has(i, links) ? SharedLink{1, waits ? 1.0 : 0.0} : SharedLink{};
    };
    const Beside beside{computes && !flies ? kernels : 1, computes ? other : 1};
    const Beside beside_transfer = takes_sms(c.stage_transfer, c.job.cluster.node) ? beside : Beside{};
    append({stretches[i].end, beside, beside_transfer, shared(exchange), shared(transfer)}, out);
  }
  return out;
}

void measure(const plan::Context& c, const Course& alone, const Course& beside, bool transfer,
             std::vector<PassSection>& sections) {
  if (alone.kernels.size() != beside.kernels.size() || alone.stretches.empty() || beside.stretches.empty()) return;
  const std::uint8_t links = transfer ? links_of(c.stage_transfer) : links_of(c.group(c.shard_axis));
  const Clock clock(alone, beside);
  double begin = 0, begin_beside = 0;
  for (PassSection& section : sections) {
    const double end = clock.beside(section.end), time = section.end - begin, took = end - begin_beside;
    const Beside& kernels = transfer ? section.transfer : section.exchange;
    SharedLink& link = transfer ? section.transfer_link : section.exchange_link;
    const double share = took > 0 ? held(beside.stretches, links, begin_beside, end) / took : 0;
    const double slower = time > 0 ? std::max(1.0, took / time) : 1;
    // At half its pace for that share of the time the company comes as far as beside this load all the time.
    link.load = share / (2 - share);
    link.waits = share > 0 ? std::max(0.0, slower / kernels.pass - 1) : 0;
    begin = section.end;
    begin_beside = end;
  }
}

}  // namespace sim
