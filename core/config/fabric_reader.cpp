// SPDX-License-Identifier: Apache-2.0
#include "core/config/fabric_reader.h"

#include "core/config/names.h"

namespace config {

spec::Fabric read_fabric(const Value& value, const std::string& path, Faults& faults) {
  using Kind = spec::Fabric::Kind;
  spec::Fabric fabric;
  MapReader map(value, path, faults);
  map.read("name", fabric.name);
  map.require("kind", fabric.kind,
              {{"single_switch", Kind::single_switch},
               {"rail_optimized", Kind::rail_optimized},
               {"fat_tree", Kind::fat_tree},
               {"nvl_rack", Kind::nvl_rack}});
  map.read("oversubscription", fabric.oversubscription, 1, 1000);
  map.read("leaf_nodes", fabric.leaf_nodes, 0, 1'000'000);
  map.require("hop_latency", fabric.hop_latency);
  map.read("nic_kind", fabric.nic_kind, kNicKinds);
  map.read("in_switch_reduction", fabric.in_switch_reduction);
  map.ignore("calibration");
  map.finish();
  return fabric;
}

}  // namespace config
