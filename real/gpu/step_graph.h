// real/gpu/step_graph.h -- a step captured in CUDA graphs: one up to each wait of the host, one behind the last. The
// capture begins on the compute stream, the others fork from its beginning and are joined at its end; memory taken and
// given back meanwhile becomes nodes. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime.h>

#include <array>
#include <functional>
#include <memory>
#include <vector>

#include "real/gpu/recycler.h"
#include "real/measure/capture_forks.h"

namespace real {

class StepGraph {
 public:
  /// All must outlive it. Throws base::DeviceError, as everything here, where the driver refuses.
  StepGraph(const Streams&, Pool&, Recycler&);
  ~StepGraph();
  StepGraph(const StepGraph&) = delete;

  void begin();
  /// Before anything is given to the stream.
  void enter(plan::Stream);
  void end();
  /// Behind the last end(): takes and returns memory as before.
  void finish();
  /// Lets all graphs go, those of a capture that is under way too; runs that wait for others go on until these are
  /// ended. Good for nothing afterwards.
  void give_up() noexcept;
  /// Page-locked memory that the graphs copy from in each run.
  void* keep(std::size_t bytes);

  /// Runs the graphs one behind the other; `host_waits` between two of them.
  void run(const std::function<void()>& host_waits) const;

 private:
  const Stream& origin() const { return streams_[static_cast<std::size_t>(CaptureForks::kOrigin)]; }

  const Streams& streams_;
  Pool& pool_;
  Recycler& recycler_;
  CaptureForks forks_;
  Event begun_;
  std::array<Event, plan::kStreams> joined_;
  std::vector<std::unique_ptr<PinnedBuffer>> kept_;
  std::vector<cudaGraphExec_t> graphs_;
  bool capturing_ = false;
};

}  // namespace real
