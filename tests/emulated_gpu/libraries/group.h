// tests/emulated_gpu/libraries/group.h -- calls of NCCL that run together, as work of a stream.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <vector>

#include "tests/emulated_gpu/device.h"
#include "tests/emulated_gpu/libraries/meeting.h"

namespace emulated_gpu {

/// A rank's part of a communicator.
struct Member {
  std::shared_ptr<Meeting> meeting;
  int rank = 0;
  Device* device = nullptr;
  std::uint64_t given = 0, done = 0;  // groups of calls
  std::uint64_t collectives = 0, splits = 0;
  std::map<int, std::uint64_t> sent, received;  // by peer
  std::set<Meeting::Side> called;               // the first time is over
  std::atomic<bool> aborted = false;
  std::shared_ptr<int> captured = std::make_shared<int>();  // each graph that holds its calls has a share
};

/// From begin to end of them nobody may write what they read, or read what they write. They run when all of the
/// member's that were made before are done; with FORERUN_EMULATED_DEAF set they never do, as where GPUs do not reach
/// one another's memory.
Make group_of(const std::shared_ptr<Member>&, const std::vector<Call>&);

}  // namespace emulated_gpu
