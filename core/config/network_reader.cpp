// SPDX-License-Identifier: Apache-2.0
#include "core/config/network_reader.h"

namespace config {

void read_network(const Value& value, spec::Network& network, Faults& faults) {
  MapReader map(value, "network", faults, "network: {algorithm: ring}, for example");
  map.read("fidelity", network.fidelity);
  map.read("algorithm", network.algorithm);
  map.finish();
}

}  // namespace config
