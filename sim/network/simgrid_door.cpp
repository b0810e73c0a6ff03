// sim/network/simgrid_door.cpp -- see simgrid.h. SimGrid is loaded when the first flows are to be run: linked, it would
// add some 30 ms to the start of every command. SPDX-License-Identifier: Apache-2.0
#include <dlfcn.h>

#include <cassert>

#include "sim/network/simgrid.h"

namespace sim {
namespace {

struct Module {
  double (*last_end)(const Fluid&) = nullptr;
  void (*ride)(const Cargo&, Rider&) = nullptr;
};

// Empty where this build has no such module, or SimGrid itself is not installed.
const Module& module() {
  static const Module entries = [] {
    Module out;
    void* const handle = dlopen("libforerun_simgrid.so", RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) return out;
    out.last_end = reinterpret_cast<decltype(out.last_end)>(dlsym(handle, "forerun_last_end"));
    out.ride = reinterpret_cast<decltype(out.ride)>(dlsym(handle, "forerun_ride"));
    return out;
  }();
  return entries;
}

}  // namespace

bool has_simgrid() { return module().last_end != nullptr; }

double last_end(const Fluid& fluid) {
  assert(has_simgrid());
  return module().last_end(fluid);
}

void ride(const Cargo& cargo, Rider& rider) {
  assert(has_simgrid());
  module().ride(cargo, rider);
}

}  // namespace sim
