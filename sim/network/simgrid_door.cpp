// sim/network/simgrid_door.cpp -- see simgrid.h. SimGrid is loaded when the first flows are to be run: linked, it would
// add some 30 ms to the start of every command. SPDX-License-Identifier: Apache-2.0
#include <dlfcn.h>

#include <cassert>

#include "sim/network/simgrid.h"

namespace sim {
namespace {

using LastEnd = double (*)(const Fluid&);

// Null where this build has no such module, or SimGrid itself is not installed.
LastEnd module() {
  static const auto entry = [] {
    void* const handle = dlopen("libforerun_simgrid.so", RTLD_NOW | RTLD_LOCAL);
    return handle == nullptr ? nullptr : reinterpret_cast<LastEnd>(dlsym(handle, "forerun_last_end"));
  }();
  return entry;
}

}  // namespace

bool has_simgrid() { return module() != nullptr; }

double last_end(const Fluid& fluid) {
  assert(has_simgrid());
  return module()(fluid);
}

}  // namespace sim
