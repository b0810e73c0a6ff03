// real/launch/ping.h -- tries the ways between all ranks: the store, the barrier, and a message between every two.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>

#include "real/launch/world.h"

namespace real {

/// Every rank sends `bytes` to every other before it receives any, and compares what comes. Returns one line of what
/// was seen: "4 ranks by torchrun on 1 machine, 1048576 bytes from each to each". Throws base::DeviceError.
std::string ping(World&, std::size_t bytes);

}  // namespace real
