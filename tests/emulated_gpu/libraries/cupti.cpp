// tests/emulated_gpu/libraries/cupti.cpp -- CUPTI's activities: what each call that gives work to a GPU is called for,
// and from when to when the work has run. One client, of a process whose ranks are one.
// SPDX-License-Identifier: Apache-2.0
#include <cupti.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <deque>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "real/cupti/layouts.h"
#include "tests/emulated_gpu/device.h"

using namespace emulated_gpu;

namespace {

using real::CopyRecord;
using real::FillRecord;
using real::KernelRecord;
using real::OwnerRecord;

struct Profiler {
  std::mutex guard;
  bool subscribed = false;
  std::set<CUpti_ActivityKind> kinds;  // that are recorded
  std::uint32_t calls = 0;
  std::vector<std::vector<std::byte>> records;
  std::deque<std::string> names;  // which records point to
  CUpti_BuffersCallbackRequestFunc request = nullptr;
  CUpti_BuffersCallbackCompleteFunc complete = nullptr;
};
Profiler& profiler() {
  static Profiler one;
  return one;
}

thread_local std::vector<std::uint64_t> owners;  // external ids, the innermost last

template <class Record>
void add(const Record& record) {
  const auto* const first = reinterpret_cast<const std::byte*>(&record);
  profiler().records.emplace_back(first, first + sizeof record);
}

std::uint64_t now() {
  const auto since = std::chrono::system_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(since).count());
}

template <class Record>
Record timed(CUpti_ActivityKind kind, std::uint32_t call, int gpu, std::uint64_t start) {
  Record out{};
  out.kind = kind;
  out.correlationId = call;
  out.deviceId = static_cast<std::uint32_t>(gpu);
  out.start = start;
  out.end = now();
  return out;
}

CUpti_ActivityKind kind_of(Activity activity) {
  if (activity == Activity::copy) return CUPTI_ACTIVITY_KIND_MEMCPY;
  return activity == Activity::fill ? CUPTI_ACTIVITY_KIND_MEMSET : CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
}

class Watched final : public Work {
 public:
  Watched(std::unique_ptr<Work> work, int gpu, std::uint32_t call) : work_(std::move(work)), gpu_(gpu), call_(call) {}

  Progress go_on() override {
    const std::uint64_t before = now();
    const Progress progress = work_->go_on();
    if (progress == Progress::waits) return progress;
    if (start_ == 0) start_ = before;
    if (progress == Progress::done) record();
    return progress;
  }
  std::string text() const override { return work_->text(); }

 private:
  void record() const {
    const std::lock_guard lock(profiler().guard);
    const CUpti_ActivityKind kind = kind_of(work_->activity());
    if (!profiler().kinds.contains(kind)) return;
    switch (work_->activity()) {
      case Activity::copy: return add(timed<CopyRecord>(CUPTI_ACTIVITY_KIND_MEMCPY, call_, gpu_, start_));
      case Activity::fill: return add(timed<FillRecord>(CUPTI_ACTIVITY_KIND_MEMSET, call_, gpu_, start_));
      default: {
        auto kernel = timed<KernelRecord>(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, call_, gpu_, start_);
        kernel.name = profiler().names.emplace_back(work_->text()).c_str();
        add(kernel);
      }
    }
  }

  std::unique_ptr<Work> work_;
  int gpu_;
  std::uint32_t call_;
  std::uint64_t start_ = 0;
};

std::unique_ptr<Work> watched(std::unique_ptr<Work> work, int gpu) {
  const std::lock_guard lock(profiler().guard);
  const std::uint32_t call = ++profiler().calls;
  const auto& kinds = profiler().kinds;  // an external id is written beside a call's record alone
  const bool tells =
      kinds.contains(CUPTI_ACTIVITY_KIND_RUNTIME) && kinds.contains(CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION);
  if (!owners.empty() && tells) {
    OwnerRecord owner{};
    owner.kind = CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION;
    owner.externalKind = CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0;
    owner.externalId = owners.back();
    owner.correlationId = call;
    add(owner);
  }
  return std::make_unique<Watched>(std::move(work), gpu, call);
}

std::size_t size_of(CUpti_ActivityKind kind) {
  switch (kind) {
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL: return sizeof(KernelRecord);
    case CUPTI_ACTIVITY_KIND_MEMCPY: return sizeof(CopyRecord);
    case CUPTI_ACTIVITY_KIND_MEMSET: return sizeof(FillRecord);
    default: return sizeof(OwnerRecord);
  }
}

void watch_if_wanted() {
  if (!profiler().kinds.empty()) {
    watch = watched;
  } else {
    watch = nullptr;
  }
}

}  // namespace

CUptiResult cuptiSubscribe_v2(CUpti_SubscriberHandle* handle, CUpti_CallbackFunc, void*,
                              CUpti_SubscriberParams* parameters) {
  if (const char* const other = getenv("FORERUN_EMULATED_PROFILER")) {  // whose process this one is
    std::strncpy(parameters->oldSubscriberName, other, parameters->oldSubscriberSize);
    return CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
  }
  if (std::exchange(profiler().subscribed, true)) return CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
  *handle = nullptr;
  return CUPTI_SUCCESS;
}
CUptiResult cuptiUnsubscribe(CUpti_SubscriberHandle) {
  profiler().subscribed = false;
  return CUPTI_SUCCESS;
}
CUptiResult cuptiActivityEnable(CUpti_ActivityKind kind) {
  profiler().kinds.insert(kind);
  watch_if_wanted();
  return CUPTI_SUCCESS;
}
CUptiResult cuptiActivityDisable(CUpti_ActivityKind kind) {
  profiler().kinds.erase(kind);
  watch_if_wanted();
  return CUPTI_SUCCESS;
}
CUptiResult cuptiActivityRegisterCallbacks(CUpti_BuffersCallbackRequestFunc request,
                                           CUpti_BuffersCallbackCompleteFunc complete) {
  profiler().request = request;
  profiler().complete = complete;
  return CUPTI_SUCCESS;
}
CUptiResult cuptiActivitySetAttribute(CUpti_ActivityAttribute, std::size_t*, void*) { return CUPTI_SUCCESS; }

/// Fills one buffer after the other.
CUptiResult(cuptiActivityFlushAll)(std::uint32_t) {
  std::vector<std::vector<std::byte>> records;
  {
    const std::lock_guard lock(profiler().guard);
    records.swap(profiler().records);
  }
  std::size_t next = 0;
  while (next < records.size()) {
    std::uint8_t* buffer = nullptr;
    std::size_t size = 0, most = 0, used = 0;
    profiler().request(&buffer, &size, &most);
    for (; next < records.size() && used + records[next].size() <= size; ++next) {
      std::memcpy(buffer + used, records[next].data(), records[next].size());
      used += records[next].size();
    }
    if (used == 0) return CUPTI_ERROR_MAX_LIMIT_REACHED;
    profiler().complete(nullptr, 0, buffer, size, used);
  }
  return CUPTI_SUCCESS;
}
CUptiResult cuptiActivityGetNumDroppedRecords(CUcontext, std::uint32_t, std::size_t* dropped) {
  *dropped = 0;
  return CUPTI_SUCCESS;
}
CUptiResult(cuptiActivityGetNextRecord)(std::uint8_t* buffer, std::size_t bytes, CUpti_Activity** record) {
  std::uint8_t* next = *record ? reinterpret_cast<std::uint8_t*>(*record) + size_of((*record)->kind) : buffer;
  if (next >= buffer + bytes) return CUPTI_ERROR_MAX_LIMIT_REACHED;
  *record = reinterpret_cast<CUpti_Activity*>(next);
  return CUPTI_SUCCESS;
}
CUptiResult cuptiActivityPushExternalCorrelationId(CUpti_ExternalCorrelationKind, std::uint64_t id) {
  owners.push_back(id);
  return CUPTI_SUCCESS;
}
CUptiResult cuptiActivityPopExternalCorrelationId(CUpti_ExternalCorrelationKind, std::uint64_t* last) {
  if (owners.empty()) return CUPTI_ERROR_QUEUE_EMPTY;
  *last = owners.back();
  owners.pop_back();
  return CUPTI_SUCCESS;
}
CUptiResult cuptiGetResultString(CUptiResult, const char** text) {
  *text = "the emulated CUPTI refuses this";
  return CUPTI_SUCCESS;
}
