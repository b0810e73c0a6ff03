// real/launch/world.h -- a rank among the others: who it is, the table they share, the channels between them.
//
//   real::World world = real::join(real::identify(real::process_environment()));   // one process a rank, by TCP
//   world.transport->send(1, channel, bytes);
//   world.store->leave(world.patience.finish);
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "core/base/units.h"
#include "real/launch/host_call.h"
#include "real/launch/identity.h"
#include "real/launch/store.h"
#include "real/launch/transport.h"

namespace real {

/// How long others are waited for.
struct Patience {
  base::Seconds join = base::s(60);      // for all ranks to start
  base::Seconds message = base::s(600);  // for a message: the sender may be computing
  base::Seconds finish = base::s(600);   // for all ranks to leave
};

/// `join` from FORERUN_JOIN_SECONDS, where that is set: on a large machine ranks may start minutes apart. Throws
/// base::InputError where it is no number of seconds.
Patience patience_from(const Environment&);

struct World {
  Identity identity;
  Patience patience;
  std::unique_ptr<Store> store;
  std::unique_ptr<Transport> transport;                           // uses the store, and is destroyed before it
  std::unique_ptr<HostCall> call = std::make_unique<HostCall>();  // that this rank is in
};

/// Meets the other processes at rank 0's store and connects each with each. Throws base::DeviceError: "only 2 of 4
/// ranks came: missing 1, 3", or that rank 0 cannot be reached.
World join(const Identity&, const Patience& = {});

/// `ranks` ranks of one process, each to be handed to a thread of its own; messages are passed in memory.
std::vector<World> in_process(int ranks, const Patience& = {});

}  // namespace real
