// tests/emulated_gpu/device.cpp -- see device.h. SPDX-License-Identifier: Apache-2.0
#include "tests/emulated_gpu/device.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <exception>
#include <thread>
#include <utility>

#include "tests/emulated_gpu/block.h"
#include "tests/emulated_gpu/capture.h"

namespace emulated_gpu {
namespace {

constexpr auto kPatience = std::chrono::minutes(1);
constexpr auto kNap = std::chrono::microseconds(50);
constexpr int kPatientFor = 10;  // questions
constexpr int kYields = 200;     // before a nap, which lasts longer than it should on a machine with little to do
// Each array that has been taken and not given back is a mapping of the process, which has 65,530.
constexpr std::size_t kMostQueued = 2000;

thread_local int current_device = 0;
thread_local const Work* running = nullptr;

std::array<std::unique_ptr<Device>, kDevices>& devices() {
  static std::array<std::unique_ptr<Device>, kDevices> all = [] {
    std::array<std::unique_ptr<Device>, kDevices> made;
    for (int i = 0; i < kDevices; ++i) {
      made[static_cast<std::size_t>(i)] = std::make_unique<Device>(i);
      made[static_cast<std::size_t>(i)]->follow(std::nullopt);
    }
    return made;
  }();
  return all;
}

}  // namespace

const Work* what_runs() { return running; }

Progress go_on(Work& work) {
  const Work* const outer = std::exchange(running, &work);
  try {
    const Progress progress = work.go_on();
    running = outer;
    return progress;
  } catch (...) {
    running = outer;
    throw;
  }
}

void set_schedule(Schedule schedule) {
  for (const auto& device : devices()) device->follow(schedule);
}

Device& Device::at(int index) { return *devices().at(static_cast<std::size_t>(index)); }
Device& Device::current() { return at(current_device); }
void Device::make_current(int index) {
  at(index);
  current_device = index;
}

Device::Device(int index) : index_(index) { default_stream_ = add_stream(); }

void Device::follow(Schedule schedule) {
  random_.seed(schedule.value_or(0) * kDevices + static_cast<unsigned>(index_));
  constexpr std::array kEagerness{0.02, 0.2, 0.7};
  constexpr std::array kTurns{0.05, 0.5};
  eagerness_ = schedule ? kEagerness[*schedule % kEagerness.size()] : 1;
  turns_ = schedule ? kTurns[*schedule / kEagerness.size() % kTurns.size()] : 0;
}

void Device::reset() {
  streams_.clear();
  failure_.clear();
  taken_ = 0;
  default_stream_ = add_stream();
}

cudaStream_t Device::add_stream() {
  const cudaStream_t stream = streams_.emplace_back(std::make_unique<CUstream_st>()).get();
  stream->device = this;
  return stream;
}

void Device::remove_stream(cudaStream_t stream) {
  stream->leaves = true;
  if (stream->queue.empty() || !failure_.empty()) {
    std::erase_if(streams_, [&](const auto& one) { return one.get() == stream; });
  }
}

void Device::give(cudaStream_t stream, const Make& make) {
  if (stream->capture) return add_node(*stream, make);
  std::unique_ptr<Work> work = make();
  if (work->activity() != Activity::none) {
    ++activities_;
    if (watch) work = watch(std::move(work), index_);
  }
  stream->queue.push_back(std::move(work));
  if (stream == default_stream_) return finish(stream);
  if (!lazy()) {
    while (step()) {
    }
  } else if (stream->queue.size() > kMostQueued) {
    while (stream->queue.size() > kMostQueued / 2 && step()) {
    }
  } else {
    glance();
  }
}

/// The order of turns changes now and then: a stream is ahead of the others, or behind them, for a while.
bool Device::step() {
  if (!failure_.empty()) return false;
  if (chance(turns_)) std::shuffle(streams_.begin(), streams_.end(), random_);
  for (std::size_t i = 0; i < streams_.size(); ++i) {
    CUstream_st& stream = *streams_[i];
    if (stream.queue.empty()) continue;
    Progress progress = Progress::waits;
    try {
      progress = go_on(*stream.queue.front());
    } catch (const std::exception& error) {
      fail(fmt::format("GPU {}, {}: {}", index_, stream.queue.front()->text(), error.what()));
      return false;
    }
    if (progress == Progress::waits) continue;
    idle_ = 0;
    if (progress == Progress::done) stream.queue.pop_front();
    if (stream.queue.empty() && stream.leaves) streams_.erase(streams_.begin() + static_cast<std::ptrdiff_t>(i));
    return true;
  }
  return false;
}

/// A host that does nothing but ask for one event waits for it, as in until().
void Device::glance(const void* event) {
  times_asked_ = event != nullptr && event == asked_for_ ? times_asked_ + 1 : 0;
  asked_for_ = event;
  if (times_asked_ < kPatientFor && !chance(eagerness_)) return;
  for (unsigned steps = 1 + random_() % 4; steps > 0; --steps) {
    if (!step()) return idle();
  }
}

/// Others are to come further, who may share this core.
void Device::idle() {
  if (++idle_ < kYields) {
    std::this_thread::yield();
  } else {
    std::this_thread::sleep_for(kNap);
  }
}

void Device::until(const std::function<bool()>& over) {
  auto moved = std::chrono::steady_clock::now();
  while (failure_.empty() && !over()) {
    if (step()) {
      moved = std::chrono::steady_clock::now();
      continue;
    }
    if (std::chrono::steady_clock::now() - moved > kPatience) return fail("nothing moves: " + who_waits());
    idle();
  }
}

void Device::finish() {
  until([&] { return std::ranges::all_of(streams_, [](const auto& one) { return one->queue.empty(); }); });
}
void Device::finish(cudaStream_t stream) {
  until([&] { return stream->queue.empty(); });
}

void Device::fail(const std::string& why) {
  if (failure_.empty()) failure_ = why;
}

bool Device::take(std::size_t bytes) {
  if (taken_ + bytes > memory_) return false;
  taken_ += bytes;
  return true;
}

std::string Device::who_waits() const {
  std::string text;
  for (const auto& stream : streams_) {
    if (stream->queue.empty()) continue;
    text += fmt::format("{}GPU {} waits with {}", text.empty() ? "" : ", ", index_, stream->queue.front()->text());
  }
  return text;
}

}  // namespace emulated_gpu
