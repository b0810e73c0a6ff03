// real/launch/spawn.h -- starts the ranks of a run on this machine: one process each.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace real {

struct Ended {
  int rank = 0;
  int exit_status = 0;  // 128 + signal when a signal ended it
  int signal = 0;       // 0: none
};
/// "rank 2 ended with exit status 3", "rank 2 was ended by signal 9 (Killed)"
std::string to_string(const Ended&);

/// Runs `command` once for each rank, which finds in its environment what identify() reads (RANK, WORLD_SIZE,
/// LOCAL_RANK, LOCAL_WORLD_SIZE, MASTER_ADDR, MASTER_PORT), and waits for all. Two seconds after the first that ends
/// with another status than 0 the rest are made to end (SIGTERM, after five seconds SIGKILL); the ranks die with this
/// process. Returns the failures that came before the rest were told to end; none when all went well. Throws
/// base::DeviceError when the command cannot be run. REQUIRES: no CUDA call was made in this process: a forked CUDA
/// context cannot be used.
std::vector<Ended> spawn(int ranks, const std::vector<std::string>& command);

}  // namespace real
