// tests/emulated_gpu/streams.cpp -- CUDA's runtime API: streams, events, memory in the order of streams, graphs.
// SPDX-License-Identifier: Apache-2.0
#include <cuda_runtime_api.h>

#include <algorithm>
#include <map>

#include "tests/emulated_gpu/block.h"
#include "tests/emulated_gpu/call.h"
#include "tests/emulated_gpu/capture.h"
#include "tests/emulated_gpu/memory.h"

using namespace emulated_gpu;

struct CUmemPoolHandle_st {
  int gpu = 0;
  struct Array {
    std::size_t bytes;
    bool of_graph;
  };
  std::map<void*, Array> taken;
  std::size_t now = 0, most = 0;
};

namespace {

class Wait final : public Work {
 public:
  explicit Wait(std::shared_ptr<const Record> record) : record_(std::move(record)) {}
  Progress go_on() override { return record_->happened ? Progress::done : Progress::waits; }
  std::string text() const override { return "a wait for an event"; }
  Activity activity() const override { return Activity::none; }

 private:
  std::shared_ptr<const Record> record_;
};

void refuse_captured(const CUstream_st& stream) {
  if (stream.capture) throw Fault("the host waits for a stream that is captured");
}

}  // namespace

// Streams.

cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned flags, int) {
  return call([&] {
    if (flags != cudaStreamNonBlocking) throw Fault("a stream that waits for the default one is not emulated");
    *stream = Device::current().add_stream();
  });
}
cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  stream->device->remove_stream(stream);
  return cudaSuccess;
}
cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  return call([&] {
    refuse_captured(*stream);
    stream->device->finish(stream);
  });
}
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned) {
  return call([&] {
    if (stream->capture || event->capture) return wait_in_capture(*stream, *event);
    if (const std::shared_ptr<Record> record = event->latest) {
      stream->device->give(stream, [record] { return std::make_unique<Wait>(record); });
    }
  });
}
cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void* data) {
  return call([&] {
    stream->device->give(stream, unrecorded("a function of the host", [=] {
                           in_host_function = true;
                           try {
                             function(data);
                           } catch (...) {
                             in_host_function = false;
                             throw;
                           }
                           in_host_function = false;
                         }));
  });
}

// Events.

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags) {
  return call([&] {
    *event = new CUevent_st;
    (*event)->timed = (flags & cudaEventDisableTiming) == 0;
  });
}
cudaError_t cudaEventDestroy(cudaEvent_t event) {
  delete event;
  return cudaSuccess;
}
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  return call([&] {
    event->capture = stream->capture;
    event->tails = stream->tails;
    if (stream->capture) return;
    const auto record = std::make_shared<Record>();
    event->latest = record;
    stream->device->give(stream, unrecorded("an event that is recorded", [record] {
                           record->happened = true;
                           record->at = std::chrono::steady_clock::now();
                         }));
  });
}
cudaError_t cudaEventQuery(cudaEvent_t event) {
  const auto happened = [&] { return event->latest == nullptr || event->latest->happened; };
  const cudaError_t status = call([&] {
    if (event->capture) throw Fault("the host asks for an event that was captured");
    if (!happened()) Device::current().glance(event);
  });
  if (status != cudaSuccess) return status;
  return happened() ? cudaSuccess : cudaErrorNotReady;
}
cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  return call([&] {
    if (event->capture) throw Fault("the host waits for an event that was captured");
    if (const std::shared_ptr<Record> record = event->latest) {
      Device::current().until([&] { return record->happened; });
    }
  });
}
cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t from, cudaEvent_t to) {
  return call([&] {
    for (const cudaEvent_t event : {from, to}) {
      if (!event->timed || !event->latest) return cudaErrorInvalidResourceHandle;
      if (!event->latest->happened) return cudaErrorNotReady;
    }
    *milliseconds = std::chrono::duration<float, std::milli>(to->latest->at - from->latest->at).count();
    return cudaSuccess;
  });
}

// Memory in the order of streams.

cudaError_t cudaMemPoolCreate(cudaMemPool_t* pool, const cudaMemPoolProps* properties) {
  *pool = new CUmemPoolHandle_st;
  (*pool)->gpu = properties->location.id;
  return cudaSuccess;
}

/// Waits for nothing: what was given back goes when the streams are there.
cudaError_t cudaMemPoolDestroy(cudaMemPool_t pool) {
  const std::unique_ptr<CUmemPoolHandle_st> owned(pool);
  return call([&] {
    const auto kept = [](const auto& one) { return !one.second.of_graph; };
    if (std::ranges::any_of(pool->taken, kept)) throw Fault("a pool goes before its memory was given back");
  });
}
cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t pool, cudaMemPoolAttr attribute, void* value) {
  if (attribute != cudaMemPoolAttrReservedMemHigh) return cudaSuccess;
  if (*static_cast<std::uint64_t*>(value) != 0) return last_error = cudaErrorInvalidValue;
  pool->most = pool->now;
  return cudaSuccess;
}
cudaError_t cudaMemPoolTrimTo(cudaMemPool_t, std::size_t) { return cudaSuccess; }
cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t pool, cudaMemPoolAttr attribute, void* value) {
  if (attribute != cudaMemPoolAttrReservedMemHigh) return last_error = cudaErrorInvalidValue;
  *static_cast<std::uint64_t*>(value) = pool->most;
  return cudaSuccess;
}

namespace {

thread_local std::size_t of_graphs = 0;  // bytes that the graphs of this thread's GPU take

std::map<void*, cudaMemPool_t>& pool_of() {
  static thread_local std::map<void*, cudaMemPool_t> pools;
  return pools;
}

}  // namespace

cudaError_t cudaMallocFromPoolAsync(void** array, std::size_t bytes, cudaMemPool_t pool, cudaStream_t stream) {
  return call([&] {
    Device& device = *stream->device;
    if (pool->gpu != device.index()) throw Fault("a pool of another GPU");
    if (!device.take(bytes)) return cudaErrorMemoryAllocation;
    void* const taken = *array = reserve(bytes, device.index());
    const bool captured = stream->capture != nullptr;
    if (captured) stream->capture->arrays.push_back(taken);
    pool->taken[taken] = {bytes, captured};
    pool_of()[taken] = pool;
    if (captured) {
      of_graphs += bytes;
    } else {
      pool->now += bytes;
      pool->most = std::max(pool->most, pool->now);
    }
    device.give(stream, unrecorded("memory that is taken", [taken] { open(taken); }));
    return cudaSuccess;
  });
}

cudaError_t cudaFreeAsync(void* array, cudaStream_t stream) {
  return call([&] {
    const auto found = pool_of().find(array);
    if (found == pool_of().end()) throw Fault("memory is given back that was not taken, or a second time");
    CUmemPoolHandle_st& pool = *found->second;
    if (stream->capture && !pool.taken.at(array).of_graph) throw Fault("a graph gives back what none has taken");
    const auto [bytes, of_graph] = pool.taken.extract(array).mapped();
    pool_of().erase(found);
    if (!of_graph) pool.now -= bytes;
    stream->device->give_back(bytes);
    stream->device->give(stream, unrecorded("memory that is given back", [array] { close(array); }));
  });
}

cudaError_t cudaDeviceGetGraphMemAttribute(int, cudaGraphMemAttributeType attribute, void* value) {
  if (attribute != cudaGraphMemAttrReservedMemHigh) return last_error = cudaErrorInvalidValue;
  *static_cast<std::uint64_t*>(value) = of_graphs;
  return cudaSuccess;
}

// Graphs.

cudaError_t cudaStreamBeginCapture(cudaStream_t stream, cudaStreamCaptureMode mode) {
  return call([&] {
    if (mode == cudaStreamCaptureModeGlobal) throw Fault("a capture that forbids calls of other threads");
    if (stream->capture) throw Fault("a stream is captured twice");
    begin_capture(*stream);
  });
}
cudaError_t cudaStreamIsCapturing(cudaStream_t stream, cudaStreamCaptureStatus* status) {
  *status = stream->capture ? cudaStreamCaptureStatusActive : cudaStreamCaptureStatusNone;
  return cudaSuccess;
}
cudaError_t cudaStreamEndCapture(cudaStream_t stream, cudaGraph_t* graph) {
  return call([&] {
    const std::shared_ptr<Capture> capture = stream->capture;
    if (!capture || capture->origin != stream) throw Fault("a capture ends on a stream on which none began");
    std::vector<std::shared_ptr<void>> holds = std::move(capture->holds);  // events keep what was captured
    if (!end_capture(*stream)) return cudaErrorStreamCaptureUnjoined;
    *graph = new CUgraph_st{capture, std::move(holds)};
    return cudaSuccess;
  });
}
cudaError_t cudaGraphInstantiate(cudaGraphExec_t* graph, cudaGraph_t of, unsigned long long flags) {
  *graph = new CUgraphExec_st{of->captured, (flags & cudaGraphInstantiateFlagAutoFreeOnLaunch) != 0};
  (*graph)->holds = of->holds;
  return cudaSuccess;
}
cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  delete graph;
  return cudaSuccess;
}
cudaError_t cudaGraphLaunch(cudaGraphExec_t graph, cudaStream_t stream) {
  return call([&] { stream->device->give(stream, run_of(graph, *stream->device)); });
}
cudaError_t cudaGraphExecDestroy(cudaGraphExec_t graph) {
  return call([&] {
    graph->leaves = graph->under_way > 0;  // CUDA waits for none of its runs
    if (!graph->leaves) destroy(graph);
  });
}
