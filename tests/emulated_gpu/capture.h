// tests/emulated_gpu/capture.h -- streams that are captured in a graph, and runs of it: its nodes go on in any order
// that their edges allow. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <set>
#include <vector>

#include "tests/emulated_gpu/device.h"
#include "tests/emulated_gpu/work.h"

namespace emulated_gpu {

struct Node {
  Make make;
  std::vector<std::size_t> after;
};

struct Capture {
  std::vector<Node> nodes;
  std::vector<void*> arrays;  // that it takes
  cudaStream_t origin = nullptr;
  std::vector<cudaStream_t> streams;  // that take part, the origin among them
  bool ended = false;
  std::vector<std::shared_ptr<void>> holds;  // what its graph does not let go
};

/// Behind what the stream has captured.
void add_node(CUstream_st&, const Make&);
void begin_capture(CUstream_st&);
/// Behind what the event was recorded behind; a stream that takes no part yet does from then on. Throws Fault for an
/// event of another capture, or of none.
void wait_in_capture(CUstream_st&, const CUevent_st&);
/// Ends the part of all streams. Whether all had been joined by the origin.
bool end_capture(CUstream_st& origin);

}  // namespace emulated_gpu

struct CUgraph_st {
  std::shared_ptr<const emulated_gpu::Capture> captured;
  std::vector<std::shared_ptr<void>> holds;
};

struct CUgraphExec_st {
  std::shared_ptr<const emulated_gpu::Capture> captured;
  bool frees_at_launch = false, runs = false;
  int under_way = 0;    // runs that have begun or will
  bool leaves = false;  // is destroyed with the last of them
  std::vector<std::shared_ptr<void>> holds = {};
};

namespace emulated_gpu {

/// One run of the graph, as work of a stream.
Make run_of(cudaGraphExec_t, Device&);
/// What it has taken goes with it. REQUIRES: no run is under way.
void destroy(cudaGraphExec_t);

}  // namespace emulated_gpu
