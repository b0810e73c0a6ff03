// SPDX-License-Identifier: Apache-2.0
#include "core/config/calibration_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "core/config/yaml_quoted.h"

namespace config {
namespace {

const char* kind(bool measured) { return measured ? "measured" : "assumed"; }

std::string rows_of(const spec::Provenance& from) {
  return fmt::format("rows: {}, residual: {:.4g}, source: {}", from.rows, from.residual, yaml_quoted(from.source));
}

/// A part of a curve with its own source, below the curve and as far to the right as its first key.
std::string part(std::string_view curve, std::string_view key, const std::string& numbers, const spec::CurvePart& of) {
  if (!of.known()) return "";
  return fmt::format(",\n{:{}}{}: {{{}, kind: {}, {}}}", "", curve.size() + 5, key, numbers, kind(of.from.measured),
                     rows_of(of.from));
}

std::string matmul(std::string_view name, const spec::MatmulCurve& c) {
  std::string out = fmt::format(
      "  {}: {{kind: {}, ceiling: {:.6g}, tile_m: {:.6g}, tile_n: {:.6g}, half_tile: {:.6g}, quarter_tile: {:.6g}, "
      "k_half: {:.6g}, wave_share: {:.6g}, memory: {:.6g}, overhead: {}, {}",
      name, kind(c.from.measured), c.ceiling, c.tile_m, c.tile_n, c.half_tile, c.quarter_tile, c.k_half, c.wave_share,
      c.memory, yaml_us(c.overhead), rows_of(c.from));
  const auto groups = [&](std::string_view key, const spec::GroupedPace& grouped) {
    out += part(name, key, fmt::format("pace: {:.6g}, each: {}", grouped.pace, yaml_us(grouped.each)), grouped);
  };
  groups("grouped", c.grouped);
  groups("grouped_mm", c.grouped_mm);
  out += part(name, "unaligned",
              fmt::format("rows_of_8: {:.6g}, rows_of_2: {:.6g}", c.unaligned.rows_of_8, c.unaligned.rows_of_2),
              c.unaligned);
  out += part(
      name, "passes",
      fmt::format("input_gradient: {:.6g}, weight_gradient: {:.6g}", c.passes.input_gradient, c.passes.weight_gradient),
      c.passes);
  out += part(name, "gradients", fmt::format("pace: {:.6g}", c.gradients.pace), c.gradients);
  return out + "}\n";
}

std::string attention(std::string_view name, const spec::AttentionCurve& c) {
  return fmt::format(
      "  {}: {{kind: {}, backward_kind: {}, forward: {:.6g}, backward: {:.6g}, ramp: {:.6g}, {}diagonal: {:.6g}, "
      "causal: {:.6g}, head_dim_64: {:.6g}, head_dim_256: {:.6g}, {}low_precision: {:.6g}, {}{}dropout: {:.6g}, {}"
      "overhead: {}, {}}}\n",
      name, kind(c.from.measured), kind(c.backward_measured), c.forward, c.backward, c.ramp,
      c.backward_ramp > 0 ? fmt::format("backward_ramp: {:.6g}, ", c.backward_ramp) : "", c.diagonal, c.causal,
      c.head_dim_64, c.head_dim_256, c.unequal_heads > 0 ? fmt::format("unequal_heads: {:.6g}, ", c.unequal_heads) : "",
      c.low_precision,
      c.backward_low_precision > 0 ? fmt::format("backward_low_precision: {:.6g}, ", c.backward_low_precision) : "",
      c.low_precision_measured ? "low_precision_kind: measured, " : "", c.dropout,
      c.index > 0 ? fmt::format("index: {:.6g}, ", c.index) : "", yaml_us(c.overhead), rows_of(c.from));
}

std::string memory(std::string_view name, const spec::MemoryCurve& c) {
  return fmt::format("  {}: {{kind: {}, efficiency: {:.6g}, overhead: {}, {}}}\n", name, kind(c.from.measured),
                     c.efficiency, yaml_us(c.overhead), rows_of(c.from));
}

std::string recurrence(std::string_view name, const spec::RecurrenceCurve& c) {
  const std::string chunks =
      c.chunk.si() > 0 || c.backward_chunk.si() > 0
          ? fmt::format("chunk: {}, backward_chunk: {}, ", yaml_us(c.chunk), yaml_us(c.backward_chunk))
          : "";
  return fmt::format("  {}: {{kind: {}, forward: {:.6g}, backward: {:.6g}, {}overhead: {}, {}}}\n", name,
                     kind(c.from.measured), c.forward, c.backward, chunks, yaml_us(c.overhead), rows_of(c.from));
}

std::string power(const spec::PowerState& p) {
  return fmt::format(
      "power:\n  sustained: {:.6g}\n  exponent: {:.6g}\n  spread: {:.6g}\n  jitter: {:.6g}\n  limit: {:.6g}W\n{}  "
      "source: {}\n",
      p.sustained, p.exponent, p.spread, p.jitter, p.power.si(),
      p.residual > 0 ? fmt::format("  residual: {:.6g}\n", p.residual) : "", yaml_quoted(p.source));
}

std::string fitted_to(const spec::Calibration& c) {
  if (c.gpu.empty()) return "";
  std::string names;
  for (const std::string& one : c.measured_as) names += (names.empty() ? "" : ", ") + yaml_quoted(one);
  return fmt::format("fitted_to: {{gpu: {}, names: [{}]}}\n", c.gpu, names);
}

std::string interference(const spec::Calibration& c) {
  std::string out;
  if (c.accumulation > 0 || !c.accumulation_source.empty())
    out += fmt::format("accumulation: {:.6g}\n", c.accumulation);
  if (!c.accumulation_source.empty()) out += "accumulation_source: " + yaml_quoted(c.accumulation_source) + '\n';
  if (!c.unaligned_source.empty()) {
    out += fmt::format("unaligned_batches: {}\n", c.unaligned_on_cuda_cores ? "cuda_cores" : "tensor_cores");
    out += "unaligned_batches_source: " + yaml_quoted(c.unaligned_source) + '\n';
  }
  out += fmt::format("compute_slowdown: {:.6g}\ncomm_slowdown: {:.6g}\n", c.compute_slowdown, c.comm_slowdown);
  if (!c.interference_source.empty()) out += "interference_source: " + yaml_quoted(c.interference_source) + '\n';
  return out;
}

}  // namespace

std::string calibration_yaml(const spec::Calibration& c, const std::string& comment) {
  std::string out;
  std::istringstream lines(comment);
  for (std::string line; std::getline(lines, line);) out += "# " + line + '\n';
  out += "name: " + c.name + '\n' + fitted_to(c);
  if (!c.power.source.empty()) out += power(c.power);
  const auto family = [&out](const char* key, const auto& names, const auto& curves, auto offered, auto write) {
    out += fmt::format("{}:\n", key);
    for (std::size_t i = 0; i < curves.size(); ++i) {
      if (offered(curves[i])) out += write(names[i], curves[i]);
    }
  };
  family(
      "matmul", spec::kNamesOf<spec::Dtype>, c.matmul, [](const auto& one) { return one.ceiling > 0; }, matmul);
  family(
      "attention", spec::kNamesOf<spec::AttentionKernel>, c.attention, [](const auto& one) { return one.forward > 0; },
      attention);
  family(
      "memory", spec::kMemoryKindNames, c.memory, [](const auto& one) { return one.efficiency > 0; }, memory);
  if (std::ranges::any_of(c.recurrence, [](const auto& one) { return one.forward > 0; })) {
    family(
        "recurrence", spec::kNamesOf<spec::Recurrent::Kind>, c.recurrence,
        [](const auto& one) { return one.forward > 0; }, recurrence);
  }
  out += interference(c);
  if (!c.sources.empty()) out += "sources:\n";
  for (const std::string& source : c.sources) out += "  - " + yaml_quoted(source) + '\n';
  return out;
}

}  // namespace config
