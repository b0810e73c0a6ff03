// SPDX-License-Identifier: Apache-2.0
#include "core/config/uncertainty_reader.h"

namespace config {
namespace {

constexpr double kWidest = 2;  // e^2: seven times

void read_sides(MapReader& parent, std::string_view key, spec::Sides& sides, Faults& faults) {
  const Value* value = parent.child(key);
  if (!value) return parent.fault(key, "is missing", "write {faster: 0.05, slower: 0.1}");
  MapReader map(*value, parent.path_of(key), faults);
  map.require("faster", sides.faster, 0, kWidest);
  map.require("slower", sides.slower, 0, kWidest);
  map.finish();
}

}  // namespace

spec::Uncertainty read_uncertainty(const Value& value, Faults& faults) {
  spec::Uncertainty u;
  MapReader map(value, "", faults);
  read_sides(map, "stack", u.stack, faults);
  read_sides(map, "unmodelled", u.unmodelled, faults);
  map.require("repeat", u.repeat, 0, kWidest);
  map.require("host", u.host, 0, kWidest);
  map.require("interference", u.interference, 0, kWidest);
  map.require("copies", u.copies, 0, kWidest);
  map.require("assumed_attention", u.assumed_attention, 0, kWidest);
  map.require("assumed_norm", u.assumed_norm, 0, kWidest);
  map.require("assumed_option", u.assumed_option, 0, kWidest);
  map.require("outside_fit", u.outside_fit, 1, 10);
  if (const Value* child = map.child("scarce")) {
    MapReader scarce(*child, "scarce", faults);
    for (int i = 0; i < spec::kScarce; ++i) read_sides(scarce, spec::kScarceNames[i], u.scarce[i], faults);
    scarce.finish();
  } else {
    map.fault("scarce", "is missing", "write a map of {faster, slower}: experts, context_parallel, zero3 ...");
  }
  u.source = value.where.file;
  map.ignore("source");
  map.finish();
  return u;
}

}  // namespace config
