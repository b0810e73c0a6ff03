// core/config/calibration_reader.cpp -- one function a family; fractions are checked against what physics allows.
// SPDX-License-Identifier: Apache-2.0
#include "core/config/calibration_reader.h"
#include "core/base/text.h"

namespace config {
namespace {

constexpr double kMost = 2;  // a fraction or factor; a little above 1 is possible, more than this is a slip
constexpr double kMostExtent = 1e6;

void read_provenance(MapReader& map, spec::Provenance& from) {
  map.require("kind", from.measured, {{"measured", true}, {"assumed", false}});
  map.require("rows", from.rows, 0, 100'000'000);
  map.require("residual", from.residual, 1e-6, kMost);
  map.require("source", from.source);
}

void read_matmul(const Value& value, const std::string& path, spec::MatmulCurve& curve, Faults& faults) {
  MapReader map(value, path, faults);
  map.require("ceiling", curve.ceiling, 1e-3, kMost);
  map.require("tile_m", curve.tile_m, 0, 4096);
  map.require("tile_n", curve.tile_n, 0, 4096);
  map.require("half_tile", curve.half_tile, 1e-3, kMost);
  map.require("quarter_tile", curve.quarter_tile, 1e-3, kMost);
  map.require("k_half", curve.k_half, 0, kMostExtent);
  map.require("wave_share", curve.wave_share, 0, 1);
  map.require("memory", curve.memory, 1e-3, kMost);
  map.require("overhead", curve.overhead);
  read_provenance(map, curve.from);
  const auto part = [&](std::string_view key, spec::CurvePart& curve_part, auto read) {
    const Value* const own = map.child(key);
    if (!own) return;
    MapReader of(*own, map.path_of(key), faults);
    read(of);
    read_provenance(of, curve_part.from);
    of.finish();
  };
  const auto groups = [&](std::string_view key, spec::GroupedPace& grouped) {
    part(key, grouped, [&](MapReader& of) {
      of.require("pace", grouped.pace, 1e-3, kMost);
      of.require("each", grouped.each);
    });
  };
  groups("grouped", curve.grouped);
  groups("grouped_mm", curve.grouped_mm);
  part("unaligned", curve.unaligned, [&](MapReader& of) {
    of.require("rows_of_8", curve.unaligned.rows_of_8, 1e-3, 1);
    of.require("rows_of_2", curve.unaligned.rows_of_2, 1e-3, 1);
  });
  part("passes", curve.passes, [&](MapReader& of) {
    of.require("input_gradient", curve.passes.input_gradient, 1e-3, 1.5);
    of.require("weight_gradient", curve.passes.weight_gradient, 1e-3, 1.5);
  });
  part("gradients", curve.gradients, [&](MapReader& of) { of.require("pace", curve.gradients.pace, 1e-3, 1); });
  map.finish();
}

void read_attention(const Value& value, const std::string& path, spec::AttentionCurve& curve, Faults& faults) {
  MapReader map(value, path, faults);
  map.require("forward", curve.forward, 1e-3, kMost);
  map.require("backward", curve.backward, 1e-3, kMost);
  map.require("ramp", curve.ramp, 0, kMostExtent);
  map.read("backward_ramp", curve.backward_ramp, 0, kMostExtent);
  map.require("diagonal", curve.diagonal, 0, kMostExtent);
  map.require("causal", curve.causal, 1e-3, kMost);
  map.require("head_dim_64", curve.head_dim_64, 1e-3, kMost);
  map.require("head_dim_256", curve.head_dim_256, 1e-3, kMost);
  map.read("unequal_heads", curve.unequal_heads, 1e-3, kMost);
  map.require("low_precision", curve.low_precision, 1e-3, kMost);
  map.read("backward_low_precision", curve.backward_low_precision, 1e-3, kMost);
  map.read("low_precision_kind", curve.low_precision_measured, {{"measured", true}, {"assumed", false}});
  map.require("dropout", curve.dropout, 1, 10);
  map.read("index", curve.index, 1e-3, kMost);
  map.require("overhead", curve.overhead);
  map.require("backward_kind", curve.backward_measured, {{"measured", true}, {"assumed", false}});
  read_provenance(map, curve.from);
  map.finish();
}

void read_memory(const Value& value, const std::string& path, spec::MemoryCurve& curve, Faults& faults) {
  MapReader map(value, path, faults);
  map.require("efficiency", curve.efficiency, 1e-3, kMost);
  map.require("overhead", curve.overhead);
  read_provenance(map, curve.from);
  map.finish();
}

void read_recurrence(const Value& value, const std::string& path, spec::RecurrenceCurve& curve, Faults& faults) {
  MapReader map(value, path, faults);
  map.require("forward", curve.forward, 1e-3, kMost);
  map.require("backward", curve.backward, 1e-3, kMost);
  map.read("chunk", curve.chunk);
  map.read("backward_chunk", curve.backward_chunk);
  map.require("overhead", curve.overhead);
  read_provenance(map, curve.from);
  map.finish();
}

void read_power(const Value& value, const std::string& path, spec::PowerState& power, Faults& faults) {
  MapReader map(value, path, faults);
  map.require("sustained", power.sustained, 1e-2, 1);
  map.require("exponent", power.exponent, 0, 1);
  map.require("spread", power.spread, 0, 0.5);
  map.require("jitter", power.jitter, 0, 0.5);
  map.require("limit", power.power);
  map.read("residual", power.residual, 0.0, 1.0);
  map.require("source", power.source);
  map.finish();
}

void read_list(MapReader& map, std::string_view key, std::string_view one, std::vector<std::string>& into) {
  const Value* list = map.child(key);
  if (list == nullptr) return;
  if (list->kind != Value::Kind::list) {
    map.fault(key, "is no list", "write one " + std::string(one) + " a line, each after a dash");
    return;
  }
  for (const Value& item : list->items) into.push_back(item.text);
}

void read_measured_as(MapReader& map, spec::Calibration& result, Faults& faults) {
  const Value* value = map.child("fitted_to");
  if (value == nullptr) return;
  MapReader part(*value, map.path_of("fitted_to"), faults);
  part.require("gpu", result.gpu);
  read_list(part, "names", "name", result.measured_as);
  part.finish();
}

/// Reads each entry of `map[key]` whose name is in `names`; absent ones stay uncalibrated.
template <class Names, class Curves, class Read>
void read_family(MapReader& map, std::string_view key, const Names& names, Curves& curves, Read read, Faults& faults) {
  const Value* value = map.child(key);
  if (value == nullptr) return;
  MapReader family(*value, map.path_of(key), faults);
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (const Value* entry = family.child(names[i])) read(*entry, family.path_of(names[i]), curves[i], faults);
  }
  family.finish();
}

}  // namespace

spec::Calibration read_calibration(const Value& value, const std::string& name, Faults& faults) {
  spec::Calibration result;
  MapReader map(value, "", faults);
  map.require("name", result.name);
  if (!result.name.empty() && result.name != name) {
    map.fault("name", base::quoted(result.name) + " is not the file's name", "write name: " + name);
  }
  read_measured_as(map, result, faults);
  if (const Value* power = map.child("power")) read_power(*power, "power", result.power, faults);
  read_family(map, "matmul", spec::kNamesOf<spec::Dtype>, result.matmul, read_matmul, faults);
  read_family(map, "attention", spec::kNamesOf<spec::AttentionKernel>, result.attention, read_attention, faults);
  read_family(map, "memory", spec::kMemoryKindNames, result.memory, read_memory, faults);
  read_family(map, "recurrence", spec::kNamesOf<spec::Recurrent::Kind>, result.recurrence, read_recurrence, faults);
  map.read("accumulation", result.accumulation, 0, 1);
  map.read("accumulation_source", result.accumulation_source);
  map.read("unaligned_batches", result.unaligned_on_cuda_cores, {{"cuda_cores", true}, {"tensor_cores", false}});
  map.read("unaligned_batches_source", result.unaligned_source);
  map.require("compute_slowdown", result.compute_slowdown, 1, 10);
  map.require("comm_slowdown", result.comm_slowdown, 1, 10);
  map.read("interference_source", result.interference_source);
  read_list(map, "sources", "source", result.sources);
  map.finish();
  return result;
}

}  // namespace config
