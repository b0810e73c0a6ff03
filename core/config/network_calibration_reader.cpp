// core/config/network_calibration_reader.cpp -- see network_calibration_reader.h.
// SPDX-License-Identifier: Apache-2.0
#include "core/config/network_calibration_reader.h"

namespace config {
namespace {

// A fitted efficiency may exceed the data sheet's rate by rounding of that rate, never by half.
constexpr double kHighestEfficiency = 1.5;

void read_low_latency(const Value& value, const std::string& path, spec::LowLatency& low, Faults& faults) {
  MapReader map(value, path, faults);
  map.require("efficiency", low.efficiency, 1e-6, kHighestEfficiency);
  map.require("latency", low.latency);
  map.require("hop", low.hop);
  map.finish();
}

void read_covered(const Value& value, const std::string& path, spec::Covered& covered, Faults& faults) {
  MapReader map(value, path, faults);
  map.require("from", covered.from);
  map.require("to", covered.to);
  map.read("fewest_ranks", covered.fewest_ranks, 1, 1'000'000);
  map.read("most_ranks", covered.most_ranks, 1, 1'000'000);
  map.read("rows", covered.rows, 1, 1'000'000'000);
  map.finish();
}

void read_curve(MapReader& parent, const char* key, spec::PathCurve& curve, Faults& faults) {
  const Value* value = parent.child(key);
  if (!value) return;
  MapReader map(*value, parent.path_of(key), faults);
  map.require("efficiency", curve.efficiency, 1e-6, kHighestEfficiency);
  map.require("latency", curve.latency);
  map.require("hop", curve.hop);
  map.read("long_hop", curve.long_hop);
  map.read("ramp", curve.ramp);
  map.read("local", curve.local, 0, 10);
  map.read("decay", curve.decay, 0, 2);
  map.read("residual", curve.residual, 0, 10);
  map.read("measured", curve.measured);
  map.read("source", curve.source);
  if (const Value* low = map.child("low_latency")) {
    read_low_latency(*low, map.path_of("low_latency"), curve.low_latency, faults);
  }
  if (const Value* low = map.child("ll128")) read_low_latency(*low, map.path_of("ll128"), curve.ll128, faults);
  if (const Value* covered = map.child("covered")) {
    read_covered(*covered, map.path_of("covered"), curve.covered, faults);
  }
  map.finish();
}

void read_sources(MapReader& parent, std::vector<std::string>& sources) {
  const Value* value = parent.child("sources");
  if (!value) return parent.fault("sources", "is missing", "list where the figures come from");
  for (const Value& item : value->items) {
    if (item.kind == Value::Kind::scalar) sources.push_back(item.text);
  }
  if (sources.empty()) parent.fault("sources", "is not a list of texts", "write sources: [\"...\"]");
}

}  // namespace

spec::NetworkCalibration read_network_calibration(const Value& value, const std::string& name, Faults& faults) {
  spec::NetworkCalibration calibration;
  calibration.name = name;
  MapReader map(value, name, faults);
  for (const spec::CurveName& one : spec::kCurveNames) {
    if (one.required && !map.has(one.key)) {
      map.fault(one.key, "is missing", "write {efficiency: ..., latency: ...us, hop: ...us}");
    } else {
      read_curve(map, one.key, calibration.*one.curve, faults);
    }
  }
  map.read("experts_call", calibration.experts_call);
  map.read("experts_call_source", calibration.experts_call_source);
  if (calibration.experts_call.si() > 0 && calibration.experts_call_source.empty()) {
    map.fault("experts_call_source", "is missing", "write where experts_call is from, in quotes");
  }
  read_sources(map, calibration.sources);
  map.finish();
  return calibration;
}

}  // namespace config
