// tests/real/launch/rank_main.cpp -- one rank of the launcher's tests: `forerun_test_rank WHAT [RANK]`. Rank RANK is
// the one that does not do as the others. SPDX-License-Identifier: Apache-2.0
#include <csignal>
#include <cstdlib>
#include <iostream>
#include <string>
#include <thread>

#include "core/base/fault.h"
#include "real/launch/ping.h"

namespace {

using namespace std::chrono_literals;

int run(const std::string& what, int odd) {
  const real::Identity id = real::identify(real::process_environment());
  const bool is_odd = id.rank == odd;
  if (what == "absent" && is_odd) {
    std::this_thread::sleep_for(60s);
    return 0;
  }
  real::World world = real::join(id, {.join = what == "absent" ? base::s(4) : base::s(30), .message = base::s(30)});
  if (what == "killed" && is_odd) std::raise(SIGKILL);
  if (what == "fails" && is_odd) return 9;
  if (what == "gives-up" && is_odd) {
    world.store->abort("out of memory");
    std::this_thread::sleep_for(60s);
  }
  if (what == "killed" || what == "gives-up") {
    // Each waits for the next but the one before the odd rank sends nothing either: only the store knows who is lost.
    world.transport->receive((id.rank + 1) % id.world, 1, base::s(30));
  }
  const std::string line = real::ping(world, what == "big" ? 16u << 20 : 1000);
  if (id.rank == 0) std::cout << line << std::endl;
  world.store->leave(world.patience.finish);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(argc > 1 ? argv[1] : "ping", argc > 2 ? std::atoi(argv[2]) : -1);
  } catch (const std::exception& error) {
    std::cerr << error.what() << std::endl;
    return 3;
  }
}
