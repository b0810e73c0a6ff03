// tests/emulated_gpu/work.h -- what a stream has to do, one piece behind the other. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdlib>
#include <functional>
#include <memory>
#include <string>

namespace emulated_gpu {

enum class Progress { done, went_on, waits };

/// What a profiler says of it.
enum class Activity { none, kernel, copy, fill };

class Work {
 public:
  virtual ~Work() = default;
  /// Called again until it is done.
  virtual Progress go_on() = 0;
  virtual std::string text() const = 0;
  virtual Activity activity() const { return Activity::kernel; }
};

/// $FORERUN_EMULATED_IDLE: kernels, copies and fills leave memory as it is. For what is timed, and nobody reads.
inline bool is_idle() {
  static const bool idle = std::getenv("FORERUN_EMULATED_IDLE") != nullptr;
  return idle;
}

/// A graph makes its work anew in each of its runs.
using Make = std::function<std::unique_ptr<Work>()>;

/// What is done in one go.
class Once final : public Work {
 public:
  Once(std::string text, std::function<void()> work, Activity activity)
      : text_(std::move(text)), work_(std::move(work)), activity_(activity) {}
  Progress go_on() override {
    if (activity_ == Activity::none || !is_idle()) work_();
    return Progress::done;
  }
  std::string text() const override { return text_; }
  Activity activity() const override { return activity_; }

 private:
  std::string text_;
  std::function<void()> work_;
  Activity activity_;
};
inline Make once(std::string text, std::function<void()> work, Activity activity = Activity::kernel) {
  return [=] { return std::make_unique<Once>(text, work, activity); };
}
/// What leaves no record: events, memory that is taken and given back, functions of the host.
inline Make unrecorded(std::string text, std::function<void()> work) {
  return once(std::move(text), std::move(work), Activity::none);
}

/// Of this thread at present; null: none.
const Work* what_runs();

/// Goes on with it as what_runs().
Progress go_on(Work&);

}  // namespace emulated_gpu
