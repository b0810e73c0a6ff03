// real/cuda/stream.h -- streams and events that end with their scope.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime.h>

#include <utility>

#include "core/base/units.h"
#include "real/cuda/check.h"

namespace real {

class Event;

/// A stream of its own, which does not wait for the legacy default stream. Of the device that is current when it is
/// made.
class Stream {
 public:
  /// Lower numbers go first; CUDA clamps to what the device has (0 to -5 on present ones).
  explicit Stream(int priority = 0) {
    check(cudaStreamCreateWithPriority(&stream_, cudaStreamNonBlocking, priority), "cudaStreamCreateWithPriority");
  }
  Stream(Stream&& other) noexcept : stream_(std::exchange(other.stream_, nullptr)) {}
  Stream& operator=(Stream&& other) noexcept {
    std::swap(stream_, other.stream_);
    return *this;
  }
  ~Stream() {
    if (stream_) cudaStreamDestroy(stream_);
  }

  cudaStream_t get() const { return stream_; }
  void wait_for(const Event&) const;
  void synchronize() const { check(cudaStreamSynchronize(stream_), "cudaStreamSynchronize"); }

 private:
  cudaStream_t stream_ = nullptr;
};

class Event {
 public:
  enum class Kind { ordering, timing };  // one that only orders costs less
  explicit Event(Kind kind = Kind::ordering) {
    check(cudaEventCreateWithFlags(&event_, kind == Kind::timing ? cudaEventDefault : cudaEventDisableTiming),
          "cudaEventCreateWithFlags");
  }
  Event(Event&& other) noexcept : event_(std::exchange(other.event_, nullptr)) {}
  Event& operator=(Event&& other) noexcept {
    std::swap(event_, other.event_);
    return *this;
  }
  ~Event() {
    if (event_) cudaEventDestroy(event_);
  }

  cudaEvent_t get() const { return event_; }
  void record(const Stream& stream) const { check(cudaEventRecord(event_, stream.get()), "cudaEventRecord"); }
  void synchronize() const { check(cudaEventSynchronize(event_), "cudaEventSynchronize"); }

 private:
  cudaEvent_t event_ = nullptr;
};

inline void Stream::wait_for(const Event& event) const {
  check(cudaStreamWaitEvent(stream_, event.get(), 0), "cudaStreamWaitEvent");
}

/// Between two recorded timing events, once both have happened; resolution about half a microsecond.
inline base::Seconds elapsed(const Event& from, const Event& to) {
  float milliseconds = 0;
  check(cudaEventElapsedTime(&milliseconds, from.get(), to.get()), "cudaEventElapsedTime");
  return base::ms(milliseconds);
}

}  // namespace real
