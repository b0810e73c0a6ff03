// tests/emulated_gpu/device.h -- a GPU with its streams. What is given to a stream waits there until somebody looks,
// and streams go on in an order that only events decide. One thread uses a GPU at a time, as a rank's does.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <driver_types.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "tests/emulated_gpu/work.h"

namespace emulated_gpu {

struct Capture;

/// One cudaEventRecord(), which others wait for.
struct Record {
  bool happened = false;
  std::chrono::steady_clock::time_point at;
};

/// How streams run. Nothing: as early as they can, in the order in which they were made. A seed: late and in an order
/// drawn from it, some seeds later than others.
using Schedule = std::optional<unsigned>;
/// For all GPUs, before they are given work.
void set_schedule(Schedule);

inline constexpr int kDevices = 16;

/// A profiler's, which sees each activity as it is given to a GPU, and may see how it goes. Nothing: none is there.
inline std::function<std::unique_ptr<Work>(std::unique_ptr<Work>, int gpu)> watch;

class Device {
 public:
  static Device& at(int index);
  static Device& current();  // of this thread
  static void make_current(int index);

  explicit Device(int index);
  int index() const { return index_; }

  cudaStream_t add_stream();
  /// Goes when it has done all.
  void remove_stream(cudaStream_t);
  /// The one that CUDA calls null, here one among others whose work is done at once.
  cudaStream_t default_stream() { return default_stream_; }

  /// Or to the graph that the stream is captured in.
  void give(cudaStream_t, const Make&);
  /// How much of what was given a profiler would record.
  std::uint64_t activities() const { return activities_; }
  /// Goes on with one piece of work; false where all streams wait, or have nothing to do.
  bool step();
  /// What happens while the host asks once: for `event`, or by giving work.
  void glance(const void* event = nullptr);
  /// Goes on until `over` holds; the GPU fails, and says what its streams wait for, when nothing has moved for a
  /// minute.
  void until(const std::function<bool()>& over);
  void finish();
  void finish(cudaStream_t);
  std::mt19937& random() { return random_; }

  /// Nothing runs any more, and whoever asks is told.
  void fail(const std::string& why);
  const std::string& failure() const { return failure_; }

  // Memory: what may be taken, is taken and was taken at most.
  void set_memory(std::size_t bytes) { memory_ = bytes; }
  std::size_t memory() const { return memory_; }
  bool take(std::size_t bytes);
  void give_back(std::size_t bytes) { taken_ -= bytes; }
  std::size_t taken() const { return taken_; }

  void follow(Schedule);
  /// As new: without failure, work or streams of before.
  void reset();

 private:
  void idle();
  bool lazy() const { return eagerness_ < 1; }
  bool chance(double share) { return std::uniform_real_distribution<>()(random_) < share; }
  std::string who_waits() const;

  int index_;
  std::vector<std::unique_ptr<CUstream_st>> streams_;  // in the order of their turns
  cudaStream_t default_stream_ = nullptr;
  std::mt19937 random_;
  double eagerness_ = 1;  // how often the streams go on while the host does not wait
  double turns_ = 0;      // how often their order changes
  const void* asked_for_ = nullptr;
  int times_asked_ = 0;  // in a row
  int idle_ = 0;         // times since something has moved
  std::uint64_t activities_ = 0;
  std::string failure_;
  std::size_t memory_ = std::size_t{80} << 30, taken_ = 0;
};

}  // namespace emulated_gpu

struct CUstream_st {
  emulated_gpu::Device* device = nullptr;
  std::deque<std::unique_ptr<emulated_gpu::Work>> queue;
  bool leaves = false;
  std::shared_ptr<emulated_gpu::Capture> capture;
  std::vector<std::size_t> tails;  // of the capture's nodes, behind which the next one comes
};

struct CUevent_st {
  bool timed = false;
  std::shared_ptr<emulated_gpu::Record> latest;
  std::shared_ptr<emulated_gpu::Capture> capture;  // in which it was recorded last, behind these of its nodes
  std::vector<std::size_t> tails;
};
