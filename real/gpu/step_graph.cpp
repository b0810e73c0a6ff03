// SPDX-License-Identifier: Apache-2.0
#include "real/gpu/step_graph.h"

#include <utility>

namespace real {

StepGraph::StepGraph(const Streams& streams, Pool& pool, Recycler& recycler)
    : streams_(streams), pool_(pool), recycler_(recycler) {
  recycler_.hold(true);
}

StepGraph::~StepGraph() {
  finish();
  give_up();
  pool_.let_go();
}

void StepGraph::give_up() noexcept {
  cudaGraph_t graph = nullptr;
  if (std::exchange(capturing_, false)) cudaStreamEndCapture(origin().get(), &graph);
  if (graph != nullptr) cudaGraphDestroy(graph);
  for (cudaGraphExec_t one : std::exchange(graphs_, {})) cudaGraphExecDestroy(one);
}

/// Relaxed: page-locked memory is taken, and NCCL sets up what it needs, while it lasts.
void StepGraph::begin() {
  pool_.start_capture();
  forks_.begin();
  check(cudaStreamBeginCapture(origin().get(), cudaStreamCaptureModeRelaxed), "cudaStreamBeginCapture");
  capturing_ = true;
  begun_.record(origin());
}

void StepGraph::enter(plan::Stream stream) {
  if (forks_.must_fork(stream)) streams_[static_cast<std::size_t>(stream)].wait_for(begun_);
}

/// What several streams have used is given back where all of them have been joined.
void StepGraph::end() {
  for (const plan::Stream stream : forks_.to_join()) {
    const Event& joined = joined_[static_cast<std::size_t>(stream)];
    joined.record(streams_[static_cast<std::size_t>(stream)]);
    origin().wait_for(joined);
  }
  pool_.give_back_on(&origin());
  recycler_.clear();
  pool_.give_back_on(nullptr);
  cudaGraph_t graph = nullptr;
  capturing_ = false;
  check(cudaStreamEndCapture(origin().get(), &graph), "cudaStreamEndCapture");
  cudaGraphExec_t instance = nullptr;
  // Tensors that outlive the step are given back by the next run.
  const cudaError_t status = cudaGraphInstantiate(&instance, graph, cudaGraphInstantiateFlagAutoFreeOnLaunch);
  cudaGraphDestroy(graph);
  check(status, "cudaGraphInstantiate");
  graphs_.push_back(instance);
}

void StepGraph::finish() {
  pool_.end_capture();
  recycler_.hold(false);
}

void* StepGraph::keep(std::size_t bytes) { return kept_.emplace_back(std::make_unique<PinnedBuffer>(bytes))->data(); }

void StepGraph::run(const std::function<void()>& host_waits) const {
  for (std::size_t i = 0; i < graphs_.size(); ++i) {
    if (i > 0) host_waits();
    check(cudaGraphLaunch(graphs_[i], origin().get()), "cudaGraphLaunch");
  }
}

}  // namespace real
