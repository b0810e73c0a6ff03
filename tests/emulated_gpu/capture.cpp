// tests/emulated_gpu/capture.cpp -- see capture.h. SPDX-License-Identifier: Apache-2.0
#include "tests/emulated_gpu/capture.h"

#include <algorithm>

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
  if (event.capture->ended) throw Fault("a stream waits for an event of a capture that has ended");
  if (!stream.capture) {
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
  capture->ended = true;
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
    ++graph->under_way;
    const std::vector<Node>& nodes = graph->captured->nodes;
    followers_.resize(nodes.size());
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      works_.push_back(nodes[i].make());
      waits_for_.push_back(nodes[i].after.size());
      if (nodes[i].after.empty()) ready_.push_back(i);
      for (const std::size_t before : nodes[i].after) followers_[before].push_back(i);
    }
  }

  Progress go_on() override {
    if (!begun_) {
      if (graph_->runs) return Progress::waits;
      begin();
    }
    if (ready_.empty()) {
      graph_->runs = false;
      if (--graph_->under_way == 0 && graph_->leaves) destroy(graph_);
      return Progress::done;
    }
    std::shuffle(ready_.begin(), ready_.end(), device_.random());
    for (std::size_t i = 0; i < ready_.size(); ++i) {
      const Progress progress = emulated_gpu::go_on(*works_[ready_[i]]);
      if (progress == Progress::waits) continue;
      if (progress == Progress::done) leave(i);
      return Progress::went_on;
    }
    return Progress::waits;
  }

  std::string text() const override {
    std::string text = "a graph that runs";
    for (const std::size_t node : ready_) text += ", with " + works_[node]->text();
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
  void leave(std::size_t place) {
    const std::size_t node = ready_[place];
    ready_.erase(ready_.begin() + static_cast<std::ptrdiff_t>(place));
    works_[node].reset();
    for (const std::size_t next : followers_[node]) {
      if (--waits_for_[next] == 0) ready_.push_back(next);
    }
  }

  cudaGraphExec_t graph_;
  Device& device_;
  std::vector<std::unique_ptr<Work>> works_;  // by node
  std::vector<std::size_t> waits_for_;        // by node: how many others
  std::vector<std::vector<std::size_t>> followers_;
  std::vector<std::size_t> ready_;
  bool begun_ = false;
};

}  // namespace

void destroy(cudaGraphExec_t graph) {
  for (void* array : graph->captured->arrays) {
    if (is_open(array)) close(array);
  }
  delete graph;
}

Make run_of(cudaGraphExec_t graph, Device& device) {
  return [graph, &device] { return std::make_unique<GraphRun>(graph, device); };
}

}  // namespace emulated_gpu
