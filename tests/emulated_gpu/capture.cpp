// tests/emulated_gpu/capture.cpp -- see capture.h. SPDX-License-Identifier: Apache-2.0
#include "tests/emulated_gpu/capture.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "tests/emulated_gpu/block.h"
#include "tests/emulated_gpu/memory.h"

namespace emulated_gpu {

void add_node(CUstream_st& stream, const Make& make) {
  Capture& capture = *stream.capture;
  capture.nodes.push_back({make, stream.tails});
  stream.tails = {capture.nodes.size() - 1};
}

void begin_capture(CUstream_st& stream) {
  stream.capture = std::make_shared<Capture>();
  stream.capture->origin = &stream;
  stream.capture->streams = {&stream};
  stream.tails.clear();
}

void wait_in_capture(CUstream_st& stream, const CUevent_st& event) {
  if (!event.capture) throw Fault("a captured stream waits for an event of before");
  if (stream.capture && stream.capture != event.capture) throw Fault("a stream waits for an event of another capture");
  if (!stream.capture) {
    if (std::ranges::find(event.capture->streams, &stream) != event.capture->streams.end()) {
      throw Fault("a stream waits for an event of a capture that has ended");
    }
    stream.capture = event.capture;
    stream.tails.clear();
    stream.capture->streams.push_back(&stream);
  }
  for (const std::size_t node : event.tails) {
    if (std::ranges::find(stream.tails, node) == stream.tails.end()) stream.tails.push_back(node);
  }
}

bool end_capture(CUstream_st& origin) {
  const std::shared_ptr<Capture> capture = origin.capture;
  std::set<std::size_t> joined;
  std::vector<std::size_t> open = origin.tails;
  while (!open.empty()) {
    const std::size_t node = open.back();
    open.pop_back();
    if (!joined.insert(node).second) continue;
    open.insert(open.end(), capture->nodes[node].after.begin(), capture->nodes[node].after.end());
  }
  bool all = true;
  for (const cudaStream_t stream : capture->streams) {
    all = all && std::ranges::all_of(stream->tails, [&](std::size_t node) { return joined.contains(node); });
    stream->capture = nullptr;
    stream->tails.clear();
  }
  return all;
}

namespace {

class GraphRun final : public Work {
 public:
  GraphRun(cudaGraphExec_t graph, Device& device) : graph_(graph), device_(device) {
    for (const Node& node : graph->captured->nodes) works_.push_back(node.make());
  }

  Progress go_on() override {
    if (!begun_) {
      if (graph_->runs) return Progress::waits;
      begin();
    }
    std::vector<std::size_t> ready;
    for (std::size_t i = 0; i < works_.size(); ++i) {
      if (works_[i] && is_ready(i)) ready.push_back(i);
    }
    if (ready.empty()) {
      graph_->runs = false;
      return Progress::done;
    }
    std::shuffle(ready.begin(), ready.end(), device_.random());
    for (const std::size_t node : ready) {
      const Progress progress = emulated_gpu::go_on(*works_[node]);
      if (progress == Progress::waits) continue;
      if (progress == Progress::done) works_[node].reset();
      return Progress::went_on;
    }
    return Progress::waits;
  }

  std::string text() const override {
    std::string text = "a graph that runs";
    for (std::size_t i = 0; i < works_.size(); ++i) {
      if (works_[i] && is_ready(i)) text += ", with " + works_[i]->text();
    }
    return text;
  }

 private:
  void begin() {
    for (void* array : graph_->captured->arrays) {
      if (!is_open(array)) continue;
      if (!graph_->frees_at_launch) throw Fault("a graph runs again that has not given back its memory");
      close(array);
    }
    begun_ = graph_->runs = true;
  }
  bool is_ready(std::size_t node) const {
    return std::ranges::none_of(graph_->captured->nodes[node].after,
                                [&](std::size_t n) { return works_[n] != nullptr; });
  }

  cudaGraphExec_t graph_;
  Device& device_;
  std::vector<std::unique_ptr<Work>> works_;  // by node; null: done
  bool begun_ = false;
};

}  // namespace

Make run_of(cudaGraphExec_t graph, Device& device) {
  return [graph, &device] { return std::make_unique<GraphRun>(graph, device); };
}

}  // namespace emulated_gpu
