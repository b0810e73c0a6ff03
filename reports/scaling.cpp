// SPDX-License-Identifier: Apache-2.0
#include "reports/scaling.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/base/text.h"
#include "reports/csv.h"
#include "reports/json.h"
#include "reports/json_object.h"
#include "reports/layout.h"
#include "reports/table.h"

namespace reports {
namespace {

using result::ComparisonRow;
using result::Prediction;
using result::Scaling;
using result::ScalingCurve;
using result::ScalingPoint;
using Status = ComparisonRow::Status;

constexpr int kScalingGauge = 20;  // cells

Table points(const std::string& counted) {
  using enum Column::Kind;
  return {2,
          {{"GPUs", number, 7},
           {"batch", number, 9},
           {"step time", number, 11},
           {counted + "/s", number, 14},
           {"MFU", number, 9},
           {"efficiency", number, 10},
           {"", drawing, kScalingGauge},
           {"", text, 0, 2}}};
}

void add(const ScalingPoint& point, Table& table, const Style& style) {
  const std::string gpus = base::with_commas(point.gpus);
  if (point.row.status == Status::refused) {
    return table.add_lines(paragraph(fmt::format("  {:>7}  refused: ", gpus), point.row.refusal, style.columns));
  }
  const Prediction& p = point.row.prediction;
  table.add({gpus,
             base::with_commas(point.global_batch),
             base::human(base::Seconds(p.step_time_s)),
             base::with_commas(std::llround(p.tokens_per_s)),
             percent(p.mfu),
             percent(point.efficiency),
             {gauge(point.efficiency, kScalingGauge), Ink::green},
             {point.row.status == Status::does_not_fit ? "too large" : "", Ink::red}});
  std::string strategy;
  for (const auto& [key, value] : point.row.varied) strategy += (strategy.empty() ? "" : " ") + key + "=" + value;
  if (!strategy.empty()) table.add_lines(paragraph("           ", strategy, style.columns));
}

bool runs(const ScalingPoint& point) { return point.row.status != Status::refused; }

/// The most GPUs that run it. REQUIRES: some do
int most_gpus(const ScalingCurve& curve) {
  return std::find_if(curve.points.rbegin(), curve.points.rend(), runs)->gpus;
}

bool fits_on_some(const ScalingCurve& curve) {
  return std::ranges::any_of(curve.points, [](const ScalingPoint& p) { return p.row.status == Status::fits; });
}

std::string fall(const ScalingCurve& curve, double efficiency, const Style& style) {
  if (curve.reference_gpus == 0) return "  No number of GPUs runs it.\n";
  if (curve.points.size() > 1 && std::ranges::count_if(curve.points, runs) == 1) {
    return "  Of these it runs on " + base::with_commas(most_gpus(curve)) + " GPUs alone.\n";
  }
  if (!curve.falls) {
    const int most = most_gpus(curve);
    const bool all = most == curve.points.back().gpus;
    return fmt::format("  Efficiency stays at {} or above{}.\n", percent(efficiency),
                       all ? "" : ", up to the " + base::with_commas(most) + " GPUs that run it");
  }
  return paragraph("  ",
                   fmt::format("Efficiency falls under {} at about {} GPUs, between {} and {}.", percent(efficiency),
                               base::with_commas(std::llround(curve.falls->gpus)),
                               base::with_commas(curve.falls->above), base::with_commas(curve.falls->below)),
                   style.columns);
}

/// All points are of one model.
std::string counted_of(const Scaling& s) {
  for (const ScalingCurve& curve : s.curves) {
    for (const ScalingPoint& point : curve.points) {
      if (runs(point)) return result::counted(point.row.prediction);
    }
  }
  return "tokens";
}

std::string title(const ScalingCurve& curve) {
  return curve.kind == result::ScalingKind::strong ? "Strong scaling: the global batch stays"
                                                   : "Weak scaling: the global batch grows with the GPUs";
}

Json point_json(const ScalingPoint& point) {
  Json out{{"gpus", point.gpus}, {"status", result::name(point.row.status)}};
  if (point.row.status == Status::refused) {
    out["refusal"] = point.row.refusal;
    return out;
  }
  const Prediction& p = point.row.prediction;
  out["global_batch"] = point.global_batch;
  out["strategy"] = strategy_json(point.row.varied);
  out["step_time_s"] = p.step_time_s;
  out["step_time_low_s"] = p.step_time_low_s;
  out["step_time_high_s"] = p.step_time_high_s;
  out["tokens_per_s"] = p.tokens_per_s;
  out["tokens_per_s_per_gpu"] = p.tokens_per_s_per_gpu;
  out["mfu"] = p.mfu;
  out["efficiency"] = point.efficiency;
  out["bubble_fraction"] = p.bubble_fraction;
  out["breakdown_s"] = object_of(p.breakdown_s);
  out["fits"] = p.fits;
  out["peak_bytes"] = p.peak_bytes;
  out["capacity_bytes"] = p.capacity_bytes;
  out["warnings"] = p.warnings;
  return out;
}

Json curve_json(const ScalingCurve& curve) {
  Json out{{"kind", result::name(curve.kind)}, {"reference_gpus", curve.reference_gpus}, {"points", Json::array()}};
  for (const ScalingPoint& point : curve.points) out["points"].push_back(point_json(point));
  if (curve.falls) {
    out["falls"] = {{"gpus", curve.falls->gpus}, {"above", curve.falls->above}, {"below", curve.falls->below}};
  } else {
    out["falls"] = nullptr;
  }
  return out;
}

}  // namespace

std::string text(const Scaling& s, const Style& style) {
  const std::string counted = counted_of(s);
  std::string out = paragraph("", s.job + (s.searched ? ", each point with its best strategy" : ""), style.columns);
  for (const ScalingCurve& curve : s.curves) {
    Table table = points(counted);
    for (const ScalingPoint& point : curve.points) add(point, table, style);
    out += fmt::format("\n{}\n", title(curve)) + table.text(style) + fall(curve, s.efficiency, style);
    if (curve.reference_gpus > 0 && !fits_on_some(curve)) {
      out += paragraph("  ", "It fits on none of them: efficiency is over the fewest GPUs that run it.", style.columns);
    }
  }
  for (const std::string& note : s.notes) out += '\n' + paragraph("", note, style.columns);
  return out + '\n' +
         paragraph("",
                   "Efficiency: " + counted + " a second and GPU, over those of the fewest GPUs " +
                       (std::ranges::any_of(s.curves, fits_on_some) ? "on which it fits." : "that run it."),
                   style.columns);
}

std::string json(const Scaling& s) {
  Json out{{"schema", kSchema}, {"job", s.job}, {"searched", s.searched}, {"efficiency", s.efficiency}};
  out["curves"] = Json::array();
  for (const ScalingCurve& curve : s.curves) out["curves"].push_back(curve_json(curve));
  out["notes"] = s.notes;
  return text_of(out);
}

std::string csv(const Scaling& s) {
  std::string out =
      "kind,gpus,status,global_batch,step_time_s,tokens_per_s,tokens_per_s_per_gpu,mfu,efficiency,bubble_fraction,"
      "peak_bytes,capacity_bytes,reason\r\n";
  for (const ScalingCurve& curve : s.curves) {
    for (const ScalingPoint& point : curve.points) {
      const Prediction& p = point.row.prediction;
      out += fmt::format("{},{},{},", result::name(curve.kind), point.gpus, result::name(point.row.status));
      if (point.row.status == Status::refused) {
        out += ",,,,,,,,," + cell(point.row.refusal);
      } else {
        out += fmt::format("{},{},{},{},{},{},{},{},{},{}", point.global_batch, p.step_time_s, p.tokens_per_s,
                           p.tokens_per_s_per_gpu, p.mfu, point.efficiency, p.bubble_fraction, p.peak_bytes,
                           p.capacity_bytes, cell(p.attack));
      }
      out += "\r\n";
    }
  }
  return out;
}

}  // namespace reports
