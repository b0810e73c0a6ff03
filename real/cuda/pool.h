// real/cuda/pool.h -- the memory of one GPU, taken and given back in stream order, by category; and memory of the host
// that copies reach at full speed. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "real/cuda/stream.h"
#include "real/memory/ledger.h"

namespace real {

class Pool;

/// Bytes on the GPU. Given back in the order of the stream it was taken on: work of other streams on it must have been
/// waited for there.
class DeviceBuffer {
 public:
  DeviceBuffer() = default;
  DeviceBuffer(DeviceBuffer&& other) noexcept { swap(other); }
  DeviceBuffer& operator=(DeviceBuffer&& other) noexcept {
    swap(other);
    return *this;
  }
  ~DeviceBuffer();

  void* data() const { return data_; }
  std::int64_t bytes() const { return bytes_; }
  template <class T>
  T* as() const {
    return static_cast<T*>(data_);
  }

 private:
  friend Pool;
  void swap(DeviceBuffer& other) noexcept;
  Pool* pool_ = nullptr;
  cudaStream_t stream_ = nullptr;
  void* data_ = nullptr;
  std::int64_t bytes_ = 0;
  plan::Category category_ = plan::Category::workspace;
  bool captured_ = false;  // of a graph, whose address is the same in each of its runs
};

/// Keeps what was given back for the next taker, so that a step like the one before asks the driver for nothing.
/// Outlives its buffers. One thread at a time.
class Pool {
 public:
  explicit Pool(int device);
  ~Pool();
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  /// What may be waited for when something does not fit: the host is ahead of the device, and much of what is taken is
  /// given back in the order of streams, later.
  struct Room {
    std::function<bool()> wait_for_oldest;  // something is given back; false: there is nothing
    std::function<void()> wait_for_all;     // streams have given back all that they were told to
  };
  void when_full(Room room) { room_ = std::move(room); }

  /// Throws base::DeviceError that says how much is taken for what when it does not fit, whatever was waited for.
  DeviceBuffer take(plan::Category category, std::int64_t bytes, const Stream& stream);

  // Steps that are captured in graphs: what is taken and given back meanwhile is a node of them. What was taken before
  // is kept until let_go(), since the graphs may read it in each run.
  void start_capture() { capturing_ = true; }
  /// What is given back from now on is given back on `stream`, which all others have joined. Null: on its own stream.
  void give_back_on(const Stream* stream);
  void end_capture() { capturing_ = false; }
  void let_go();

  /// What the buffers asked for.
  Ledger& ledger() { return ledger_; }
  /// What nobody has taken goes back to the driver, whose peak begins anew.
  void trim();
  /// The most that the driver gave this pool at once: rounding, fragmentation and graphs included.
  std::int64_t reserved_peak() const;

 private:
  friend DeviceBuffer;
  void give_back(DeviceBuffer&);
  cudaError_t take_waiting(void** data, std::size_t bytes, const Stream& stream) const;
  /// Throws unless `status` is success.
  void expect_taken(cudaError_t status, const char* call, plan::Category category, std::int64_t bytes) const;

  int device_;
  cudaMemPool_t pool_ = nullptr;
  Room room_;
  bool capturing_ = false;
  const Stream* joined_ = nullptr;
  std::vector<std::pair<void*, cudaStream_t>> kept_;
  std::vector<void*> late_;  // given back by streams that take no part in this capture
  Ledger ledger_;
};

/// Page-locked memory of the host.
class PinnedBuffer {
 public:
  explicit PinnedBuffer(std::size_t bytes) : bytes_(bytes) { check(cudaMallocHost(&data_, bytes), "cudaMallocHost"); }
  PinnedBuffer(const PinnedBuffer&) = delete;
  PinnedBuffer& operator=(const PinnedBuffer&) = delete;
  ~PinnedBuffer() { cudaFreeHost(data_); }

  void* data() const { return data_; }
  std::size_t bytes() const { return bytes_; }

 private:
  void* data_ = nullptr;
  std::size_t bytes_;
};

}  // namespace real
