// SPDX-License-Identifier: Apache-2.0
#include "reports/collectives.h"

#include <fmt/format.h>

#include <string_view>
#include <utility>
#include <vector>

#include "reports/json_object.h"
#include "reports/layout.h"
#include "reports/table.h"

namespace reports {
namespace {

constexpr double kMicro = 1e6, kGiga = 1e9;

/// 8 B, 512 KiB, 1.5 MiB: nccl-tests steps in powers of two.
std::string size_text(std::int64_t bytes) {
  constexpr std::string_view units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  double value = static_cast<double>(bytes);
  int unit = 0;
  while (value >= 1024 && unit < 4) value /= 1024, ++unit;
  return fmt::format("{:.4g} {}", value, units[unit]);
}

std::string heading(const result::CollectiveTable& t) {
  std::string out = fmt::format("{} on {} x {}", t.op, t.nodes, t.node);
  if (!t.fabric.empty()) out += " over " + t.fabric;
  out += fmt::format(": {} ranks", t.ranks);
  if (t.domains > 1) out += fmt::format(" in {} domains", t.domains);
  return out + (t.asked == "auto" ? "" : ", algorithm " + t.asked);
}

/// Each curve once, in the order in which sizes need them.
std::string curves(const result::CollectiveTable& t, int width) {
  std::vector<std::string> told;
  std::string out;
  for (const result::CollectiveRow& row : t.rows) {
    bool seen = row.curve.empty();
    for (const std::string& one : told) seen = seen || one == row.curve;
    if (seen) continue;
    told.push_back(row.curve);
    out += paragraph(fmt::format("  {:<24} {:<9} ", row.curve, row.measured ? "measured" : "guessed"),
                     row.source.empty() ? "no source is told" : row.source, width);
  }
  return out;
}

Json figures_of(const result::CollectiveFigures& f) {
  return {{"rows", f.rows}, {"median_abs_error", f.median_abs_error}, {"median_signed_error", f.median_signed_error}};
}

std::string share(double value) { return fmt::format("{:.1f} %", value * 100); }
std::string signed_share(double value) { return fmt::format("{:+.1f} %", value * 100); }

}  // namespace

std::string collective_text(const result::CollectiveTable& t, const Style& style) {
  using enum Column::Kind;
  Table table(0, {{"size", number, 12},
                  {"time us", number, 14},
                  {"algbw", number, 10},
                  {"busbw", number, 10},
                  {"algorithm", text, 11, 2},
                  {"protocol", text, 11, 2},
                  {"curve", text, 0, 2}});
  for (const result::CollectiveRow& row : t.rows) {
    table.add({size_text(row.bytes), fmt::format("{:.2f}", row.time_s * kMicro),
               fmt::format("{:.2f}", row.algbw / kGiga), fmt::format("{:.2f}", row.busbw / kGiga), row.algorithm,
               row.protocol, row.curve + (row.measured ? "" : ", guessed") + (row.extrapolated ? " *" : "")});
  }
  std::string out = paragraph("", heading(t), style.columns) + table.text(style);
  out += "bandwidths in GB/s, as nccl-tests defines them\ncurves\n" + curves(t, style.columns);
  for (const std::string& warning : t.warnings) out += paragraph("warning: ", warning, style.columns);
  return out;
}

std::string collective_csv(const result::CollectiveTable& t) {
  std::string out =
      "op,ranks,bytes,time_s,low_s,high_s,algbw_bytes_per_s,busbw_bytes_per_s,algorithm,protocol,curve,measured,"
      "extrapolated\n";
  for (const result::CollectiveRow& row : t.rows) {
    out += fmt::format("{},{},{},{:.9g},{:.9g},{:.9g},{:.9g},{:.9g},{},{},{},{},{}\n", t.op, t.ranks, row.bytes,
                       row.time_s, row.low_s, row.high_s, row.algbw, row.busbw, row.algorithm, row.protocol, row.curve,
                       row.measured, row.extrapolated);
  }
  return out;
}

std::string collective_json(const result::CollectiveTable& t) {
  Json out{{"schema", 1},    {"op", t.op},       {"node", t.node},       {"fabric", t.fabric},  {"nodes", t.nodes},
           {"gpus", t.gpus}, {"ranks", t.ranks}, {"domains", t.domains}, {"algorithm", t.asked}};
  out["rows"] = Json::array();
  for (const result::CollectiveRow& row : t.rows) {
    out["rows"].push_back({{"bytes", row.bytes},
                           {"time_s", row.time_s},
                           {"low_s", row.low_s},
                           {"high_s", row.high_s},
                           {"algbw", row.algbw},
                           {"busbw", row.busbw},
                           {"algorithm", row.algorithm},
                           {"protocol", row.protocol},
                           {"curve", row.curve},
                           {"source", row.source},
                           {"measured", row.measured},
                           {"extrapolated", row.extrapolated}});
  }
  out["warnings"] = t.warnings;
  return text_of(out);
}

std::string collectives_text(const result::CollectiveValidation& v, const Style& style) {
  using enum Column::Kind;
  Table table(0, {{"node", text, 16},
                  {"nodes", number, 6},
                  {"operation", text, 15, 2},
                  {"rows", number, 6},
                  {"below", number, 9, 1, true},
                  {"signed", number, 9, 1, true},
                  {"rows", number, 7},
                  {"from", number, 9, 1, true},
                  {"signed", number, 9, 1, true}});
  const auto add = [&](const std::string& node, const std::string& nodes, const std::string& op,
                       const result::CollectiveFigures& small, const result::CollectiveFigures& large) {
    std::vector<Cell> cells{node, nodes, op};
    for (const result::CollectiveFigures* f : {&small, &large}) {
      cells.emplace_back(f->rows == 0 ? "-" : std::to_string(f->rows));
      cells.emplace_back(f->rows == 0 ? "-" : share(f->median_abs_error));
      cells.emplace_back(f->rows == 0 ? "-" : signed_share(f->median_signed_error));
    }
    table.add(std::move(cells));
  };
  for (const result::CollectiveGroup& g : v.groups) add(g.node, std::to_string(g.nodes), g.op, g.small, g.large);
  add("all", "", "", v.small, v.large);
  return table.text(style) +
         paragraph("", "medians of the error of bus bandwidth, below 1 MiB and from 1 MiB on", style.columns);
}

std::string collectives_markdown(const result::CollectiveValidation& v) {
  std::string out =
      "| node | nodes | operation | rows below 1 MiB | median abs. | signed | rows from 1 MiB | median abs. | signed "
      "|\n"
      "|---|---|---|---|---|---|---|---|---|\n";
  const auto cells = [](const result::CollectiveFigures& f) {
    if (f.rows == 0) return std::string(" - | - | - |");
    return fmt::format(" {} | {} | {} |", f.rows, share(f.median_abs_error), signed_share(f.median_signed_error));
  };
  for (const result::CollectiveGroup& g : v.groups) {
    out += fmt::format("| {} | {} | {} |{}{}\n", g.node, g.nodes, g.op, cells(g.small), cells(g.large));
  }
  return out + fmt::format("| all | | |{}{}\n", cells(v.small), cells(v.large));
}

std::string collectives_json(const result::CollectiveValidation& v) {
  Json out{{"schema", 1}, {"below_1MiB", figures_of(v.small)}, {"from_1MiB", figures_of(v.large)}};
  out["groups"] = Json::array();
  for (const result::CollectiveGroup& g : v.groups) {
    out["groups"].push_back({{"node", g.node},
                             {"nodes", g.nodes},
                             {"op", g.op},
                             {"below_1MiB", figures_of(g.small)},
                             {"from_1MiB", figures_of(g.large)}});
  }
  out["sweeps"] = Json::array();
  for (const result::CollectiveSweep& s : v.sweeps) {
    Json sweep{{"file", s.file},   {"op", s.op},     {"node", s.node},      {"fabric", s.fabric},
               {"nodes", s.nodes}, {"gpus", s.gpus}, {"algorithm", s.asked}};
    for (const result::CollectiveCase& c : s.cases) {
      sweep["cases"].push_back({{"bytes", c.bytes},
                                {"measured_s", c.measured_s},
                                {"predicted_s", c.predicted_s},
                                {"error", c.error},
                                {"algorithm", c.algorithm},
                                {"protocol", c.protocol}});
    }
    out["sweeps"].push_back(std::move(sweep));
  }
  return text_of(out);
}

}  // namespace reports
