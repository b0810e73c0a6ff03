// tests/real/launch/worlds.h -- runs every rank of a world as a thread of the test, by memory or by TCP.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "core/base/fault.h"
#include "real/launch/socket.h"
#include "real/launch/world.h"

namespace worlds {

enum class Kind { memory, tcp };
inline const char* name(Kind kind) { return kind == Kind::memory ? "Memory" : "Tcp"; }

/// What each rank ended with: empty for good order, else the text of its base::DeviceError.
using Ends = std::vector<std::string>;
using Body = std::function<void(real::World&)>;

namespace detail {

inline std::string run(const std::function<real::World()>& make, const Body& body) {
  try {
    real::World world = make();
    body(world);
    world.store->leave(world.patience.finish);
    return "";
  } catch (const base::DeviceError& error) {
    return error.what();
  }
}

}  // namespace detail

/// Runs `body` for each rank; those in `absent` are never started.
inline Ends run(Kind kind, int ranks, const Body& body, const real::Patience& patience,
                const std::vector<int>& absent = {}) {
  std::vector<real::World> ready;
  if (kind == Kind::memory) ready = real::in_process(ranks, patience);
  const int port = real::port_of(real::listen_on(0));
  Ends ends(static_cast<std::size_t>(ranks));
  std::vector<std::jthread> threads;
  for (int rank = 0; rank < ranks; ++rank) {
    if (std::find(absent.begin(), absent.end(), rank) != absent.end()) continue;
    threads.emplace_back([&, rank] {
      const auto make = [&]() -> real::World {
        if (kind == Kind::memory) return std::move(ready[static_cast<std::size_t>(rank)]);
        real::Identity id{.rank = rank, .world = ranks, .local_rank = rank, .local_world = ranks, .launcher = "test"};
        id.host = "here";
        id.store_port = port;
        return real::join(id, patience);
      };
      ends[static_cast<std::size_t>(rank)] = detail::run(make, body);
    });
  }
  threads.clear();
  return ends;
}

/// Long enough for a busy machine; a test that waits for it has failed.
inline const real::Patience kLong{.join = base::s(60), .message = base::s(60), .finish = base::s(60)};

}  // namespace worlds
