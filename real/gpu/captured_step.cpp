// real/gpu/captured_step.cpp -- a step of the GPU backend that is captured in graphs and run by them (step_graph.h).
// SPDX-License-Identifier: Apache-2.0
#include "real/gpu/gpu_backend.h"

namespace real {

void GpuBackend::capture_next_step() {
  graph_.emplace(streams_, pool_, recycler_);
  capturing_ = true;
}

/// Where the host waits a graph ends, and all streams with it. Events of one capture mean nothing to the next.
void GpuBackend::split_capture() {
  graph_->end();
  board_.clear();
  graph_->begin();
  graph_->enter(current_);
}

/// What was sent before is kept for the graphs, what they send is theirs.
void GpuBackend::end_capture() {
  indices_.clear();
  graph_->end();
  graph_->finish();
  capturing_ = false;
  between_steps_ = true;
  board_.clear();
  run_captured();
}

void GpuBackend::run_captured() {
  const HostCall::Scope held(*world_.call, "cudaGraphLaunch", world_.patience.message);
  step_begin_.record(stream());
  graph_->run([this] { host_waits(); });
  step_end_.record(stream());
  waiter_.until(step_end_);
  last_step_ = elapsed(step_begin_, step_end_);
}

}  // namespace real
