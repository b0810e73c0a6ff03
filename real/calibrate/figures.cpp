// SPDX-License-Identifier: Apache-2.0
#include "real/calibrate/figures.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "core/base/text.h"
#include "real/calibrate/points.h"
#include "real/calibrate/tables.h"

namespace real {
namespace {

using Direction = HostCopy::Direction;
using Subject = Beside::Subject;

constexpr int kNcclSms[] = {16, 24};  // that NCCL's kernels hold as a rule
constexpr std::int64_t kLargeCopy = std::int64_t{256} << 20;

/// Medians by shape; void points have none.
class Times {
 public:
  explicit Times(const Points& points) {
    for (const MeasuredPoint& point : points.points) {
      if (point.void_because.empty()) times_[key(point.shape)] = point.median;
    }
  }
  std::optional<base::Seconds> of(const Shape& shape) const {
    const auto at = times_.find(key(shape));
    return at == times_.end() ? std::nullopt : std::optional(at->second);
  }
  std::optional<double> ratio(const Shape& over, const Shape& under) const {
    const auto a = of(over), b = of(under);
    return a && b ? std::optional(*a / *b) : std::nullopt;
  }
  std::optional<base::ByteRate> rate(const HostCopy& copy) const {
    const auto time = of(copy);
    if (!time) return {};
    const double ways = copy.direction == Direction::both ? 2 : 1;
    return base::Bytes(ways * static_cast<double>(copy.bytes)) / *time;
  }

 private:
  std::map<std::string, base::Seconds> times_;
};

/// Geometric mean over what NCCL holds; nothing slows down below 1.
template <class Ratio>
std::optional<double> slowdown(Ratio ratio) {
  double sum = 0;
  int found = 0;
  for (const int sms : kNcclSms) {
    const std::optional<double> one = ratio(sms);
    if (!one) continue;
    sum += std::log(*one);
    ++found;
  }
  if (found == 0) return {};
  return std::max(1.0, std::exp(sum / found));
}

/// What adding takes longer, over the time to read and write the sums at the data sheet's bandwidth; of all pairs.
std::optional<double> accumulation(const Times& times, const spec::Gpu& gpu) {
  base::Seconds longer, sums;
  for (const Accumulated& pair : accumulated()) {
    const auto plain = times.of(pair.plain), adding = times.of(pair.adding);
    if (!plain || !adding) continue;
    longer += *adding - *plain;
    sums += base::Bytes(8.0 * static_cast<double>(pair.plain.m * pair.plain.n)) / gpu.hbm;
  }
  if (sums.si() <= 0) return {};
  return std::clamp(longer / sums, 0.0, 1.0);
}

/// Median over the matmuls that are long beside a launch of what their repetitions tell: four fifths of a normal
/// distribution lie within 1.2816 standard deviations of its mean.
std::optional<double> jitter(const Points& points) {
  constexpr double kShortest = 100e-6, kFourFifths = 1.2816;
  constexpr std::size_t kFewest = 5;
  std::vector<double> deviations;
  for (const MeasuredPoint& point : points.points) {
    const bool counts = point.void_because.empty() && point.median.si() >= kShortest;
    if (!counts || !std::holds_alternative<config::MatmulRow>(point.shape)) continue;
    deviations.push_back(std::log(point.high / point.low) / (2 * kFourFifths));
  }
  if (deviations.size() < kFewest) return {};
  const auto middle = deviations.begin() + static_cast<std::ptrdiff_t>(deviations.size() / 2);
  std::nth_element(deviations.begin(), middle, deviations.end());
  return *middle;
}

}  // namespace

Figures figures_of(const Points& points, const spec::Gpu& gpu) {
  const Times times(points);
  Figures out;
  out.accumulation = accumulation(times, gpu);
  out.jitter = jitter(points);
  out.compute_slowdown = slowdown([&](int sms) {
    return times.ratio(Beside{Subject::matmul, sms, true}, kReferenceMatmul);
  });
  out.comm_slowdown = slowdown([&](int sms) {
    return times.ratio(Beside{Subject::copy, sms, true}, Beside{Subject::copy, sms, false});
  });
  for (const MeasuredPoint& point : points.points) {
    if (!std::holds_alternative<Sustained>(point.shape) || !point.void_because.empty()) continue;
    const auto pace = times.ratio(kReferenceMatmul, point.shape);
    if (pace) out.sustained = std::min(1.0, *pace);
    out.under_load = point.condition;
  }
  out.issue = times.of(Launch{Launch::What::issue});
  out.gap = times.of(Launch{Launch::What::gap});
  out.graph_gap = times.of(Launch{Launch::What::graph_gap});
  out.events = times.of(Launch{Launch::What::events});
  const HostCopy down{Direction::to_device, true, false, kLargeCopy};
  out.to_device = times.rate(down);
  out.to_host = times.rate({Direction::to_host, true, false, kLargeCopy});
  out.both = times.rate({Direction::both, true, false, kLargeCopy});
  out.copy_beside_matmul = times.ratio(HostCopy{Direction::to_device, true, true, kLargeCopy}, down);
  return out;
}

void apply(const Figures& figures, const Machine& machine, spec::Calibration& c) {
  if (figures.compute_slowdown || figures.comm_slowdown) {
    if (figures.compute_slowdown) c.compute_slowdown = *figures.compute_slowdown;
    if (figures.comm_slowdown) c.comm_slowdown = *figures.comm_slowdown;
    c.interference_source = "measured: a matmul of 8192 beside a copy that holds 16 and 24 SMs" +
                            std::string(figures.comm_slowdown ? ", and that copy beside the matmul" : "") + "; " +
                            source_of(machine);
  }
  if (figures.accumulation) {
    c.accumulation = *figures.accumulation;
    c.accumulation_source =
        "measured: matmuls of 8192 x 8192 x 2048 and 4096 with fp32 sums against the same in bf16; " +
        source_of(machine);
  }
  if (figures.jitter) {
    c.power.jitter = *figures.jitter;
    c.power.source =
        fmt::format("jitter: measured: repetitions of matmuls; {}; {}", source_of(machine), c.power.source);
  }
  if (!figures.sustained) return;
  c.power.sustained = *figures.sustained;
  if (machine.power_limit.si() > 0) c.power.power = machine.power_limit;
  const Condition& load = figures.under_load;
  c.power.source = fmt::format(
      "sustained: measured: matmuls of 8192 for some 20 s, a quarter of the time copies between them, against short "
      "ones, SMs at {}, {}; {}; {}",
      base::human(load.sm_clock), base::human(load.power), source_of(machine), c.power.source);
}

std::vector<std::string> lines(const Figures& f) {
  std::vector<std::string> out;
  const auto ratio = [&](const char* what, const std::optional<double>& value) {
    if (value) out.push_back(fmt::format("{}: {:.3f}", what, *value));
  };
  const auto quantity = [&](const char* what, const auto& value) {
    if (value) out.push_back(fmt::format("{}: {}", what, base::human(*value)));
  };
  ratio("matmul beside a copy on 16 and 24 SMs, times alone (compute_slowdown)", f.compute_slowdown);
  ratio("that copy beside a matmul, times alone (comm_slowdown)", f.comm_slowdown);
  ratio("fp32 sums that a matmul adds to, share of their time that it does not hide (accumulation)", f.accumulation);
  ratio("pace of matmuls under sustained load (power.sustained)", f.sustained);
  ratio("deviation of a matmul from run to run (power.jitter)", f.jitter);
  quantity("host: to issue the smallest kernel, from C++", f.issue);
  quantity("device: from one dependent kernel to the next", f.gap);
  quantity("device: the same inside a CUDA graph", f.graph_gap);
  quantity("two events with nothing between, which every time above holds", f.events);
  quantity("host to device, pinned (a node's pcie.copy)", f.to_device);
  quantity("device to host, pinned (a node's pcie.copy)", f.to_host);
  quantity("both ways at once, together", f.both);
  ratio("host to device beside matmuls, times alone", f.copy_beside_matmul);
  return out;
}

}  // namespace real
