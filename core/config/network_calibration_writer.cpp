// SPDX-License-Identifier: Apache-2.0
#include "core/config/network_calibration_writer.h"

#include <fmt/format.h>

#include <sstream>

#include "core/config/yaml_quoted.h"

namespace config {
namespace {

std::string protocol(const char* key, const spec::LowLatency& p) {
  if (p.efficiency <= 0) return "";
  return fmt::format("   {}: {{efficiency: {:.6g}, latency: {}, hop: {}}},\n", key, p.efficiency, yaml_us(p.latency),
                     yaml_us(p.hop));
}

std::string covered(const spec::Covered& c) {
  if (c.to.si() <= 0) return "";
  std::string out = fmt::format("   covered: {{from: {:.0f}B, to: {:.0f}B", c.from.si(), c.to.si());
  if (c.fewest_ranks > 0) out += fmt::format(", fewest_ranks: {}, most_ranks: {}", c.fewest_ranks, c.most_ranks);
  if (c.rows > 0) out += fmt::format(", rows: {}", c.rows);
  return out + "},\n";
}

std::string curve(const char* key, const spec::PathCurve& c) {
  return fmt::format(
             "{}:\n  {{efficiency: {:.6g}, latency: {}, hop: {}, {}ramp: {:.6g}kB, local: {:.6g}, decay: {:.6g},\n",
             key, c.efficiency, yaml_us(c.latency), yaml_us(c.hop),
             c.long_hop > base::Seconds() ? "long_hop: " + yaml_us(c.long_hop) + ", " : "", c.ramp.si() / 1e3, c.local,
             c.decay) +
         protocol("low_latency", c.low_latency) + protocol("ll128", c.ll128) + covered(c.covered) +
         fmt::format("   residual: {:.3g}, measured: {}, source: {}}}\n", c.residual, c.measured,
                     yaml_quoted(c.source));
}

}  // namespace

std::string network_calibration_yaml(const spec::NetworkCalibration& calibration, const std::string& comment) {
  std::string out;
  std::istringstream lines(comment);
  for (std::string line; std::getline(lines, line);) out += "# " + line + '\n';
  for (const spec::CurveName& one : spec::kCurveNames) {
    const spec::PathCurve& c = calibration.*one.curve;
    if (one.required || c.offered()) out += curve(one.key, c);
  }
  if (calibration.experts_call.si() > 0) {
    out += "experts_call: " + yaml_us(calibration.experts_call) + '\n';
    out += "experts_call_source: " + yaml_quoted(calibration.experts_call_source) + '\n';
  }
  out += "sources:\n";
  for (const std::string& source : calibration.sources) out += "  - " + yaml_quoted(source) + '\n';
  return out;
}

}  // namespace config
