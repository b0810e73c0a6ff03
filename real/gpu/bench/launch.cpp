// real/gpu/bench/launch.cpp -- what it costs to issue the smallest kernel. SPDX-License-Identifier: Apache-2.0
#include "kernels/convert.h"
#include "real/gpu/bench/kit.h"
#include "real/gpu/bench/stopwatch.h"

namespace real {
namespace {

constexpr int kKernels = 200;  // fewer than a stream's queue holds, or the host would wait for the device

/// One number added to itself, kKernels times; each waits for the one before.
struct Smallest {
  float* number;

  void operator()(const Stream& stream) const {
    for (int i = 0; i < kKernels; ++i) {
      kernels::gpu::scale_add(1, 0.5, kernels::Element::f32, number, 0.5, kernels::Element::f32, number, stream.get());
    }
  }
};

base::Seconds issue(const Smallest& smallest, const Kit& kit) {
  kit.stream.synchronize();
  const Stopwatch watch;
  smallest(kit.stream);
  return watch.passed() / kKernels;
}

/// On the device, with the host ahead of it: `give` is queued before it begins.
template <class Give>
base::Seconds on_device(Give give, const Kit& kit) {
  const Event begin(Event::Kind::timing), end(Event::Kind::timing);
  kit.arena.delay();
  begin.record(kit.stream);
  give();
  end.record(kit.stream);
  end.synchronize();
  return elapsed(begin, end);
}

/// The same kernels in a CUDA graph that can be replayed.
class Graph {
 public:
  Graph(const Smallest& smallest, const Stream& stream) {
    check(cudaStreamBeginCapture(stream.get(), cudaStreamCaptureModeThreadLocal), "cudaStreamBeginCapture");
    smallest(stream);
    check(cudaStreamEndCapture(stream.get(), &graph_), "cudaStreamEndCapture");
    check(cudaGraphInstantiate(&ready_, graph_, 0), "cudaGraphInstantiate");
  }
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;
  ~Graph() {
    if (ready_) cudaGraphExecDestroy(ready_);
    if (graph_) cudaGraphDestroy(graph_);
  }
  void replay(const Stream& stream) const { check(cudaGraphLaunch(ready_, stream.get()), "cudaGraphLaunch"); }

 private:
  cudaGraph_t graph_ = nullptr;
  cudaGraphExec_t ready_ = nullptr;
};

}  // namespace

std::vector<base::Seconds> timed(const Launch& launch, Kit& kit, base::Seconds most) {
  const Smallest smallest{kit.arena.floats(1)};
  switch (launch.what) {
    case Launch::What::issue: return repeated([&] { return issue(smallest, kit); }, most);
    case Launch::What::gap:
      return repeated([&] { return on_device([&] { smallest(kit.stream); }, kit) / kKernels; }, most);
    case Launch::What::events: return repeated([&] { return on_device([] {}, kit); }, most);
    case Launch::What::graph_gap: break;
  }
  const Graph graph(smallest, kit.stream);
  return repeated([&] { return on_device([&] { graph.replay(kit.stream); }, kit) / kKernels; }, most);
}

}  // namespace real
