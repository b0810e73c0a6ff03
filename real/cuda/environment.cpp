// SPDX-License-Identifier: Apache-2.0
#include "real/cuda/environment.h"

#include <cstdlib>

namespace real {

void choose_environment() {
  // Streams share hardware queues, 8 unless this says otherwise, and one that shares a queue waits for what another put
  // there first. A Plan has up to 16 streams, NCCL some of its own; 32 is the most that CUDA takes. Source: CUDA C++
  // Programming Guide, "CUDA Environment Variables".
  setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 0);
  // In a graph NCCL registers the buffers of collectives with its peers, for as long as the graph lives. Ours are taken
  // inside the graph: between two runs nothing has to lie behind their addresses. Source: NCCL's user guide,
  // "NCCL_GRAPH_REGISTER".
  setenv("NCCL_GRAPH_REGISTER", "0", 0);
}

}  // namespace real
