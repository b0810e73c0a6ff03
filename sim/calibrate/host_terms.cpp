// SPDX-License-Identifier: Apache-2.0
#include "sim/calibrate/host_terms.h"

#include "core/base/text.h"

namespace sim {

std::vector<std::string> host_terms(const std::vector<spec::Framework>& frameworks) {
  std::vector<std::string> out;
  for (const spec::Framework& one : frameworks) {
    if (one.launch.si() <= 0) continue;
    out.push_back("host (" + one.name + "): " + base::human(one.launch) + " a kernel, " +
                  base::human(one.collective_launch) + " a collective; workloads/frameworks/" + one.name +
                  ".yaml names the source");
  }
  return out;
}

}  // namespace sim
