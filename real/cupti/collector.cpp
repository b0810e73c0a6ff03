// SPDX-License-Identifier: Apache-2.0
#include "real/cupti/collector.h"

#include <cuda_runtime.h>

#include <array>
#include <cstdlib>
#include <mutex>
#include <utility>

#include "real/cuda/check.h"
#include "real/cupti/check.h"
#include "real/cupti/decode.h"

namespace real {
namespace {

constexpr std::size_t kBuffer = std::size_t{8} << 20;         // bytes of one host buffer
constexpr std::size_t kDeviceBuffer = std::size_t{16} << 20;  // CUPTI's own on the device: some 500,000 records
constexpr std::size_t kAlignment = 4096;                      // CUPTI wants 8

// External ids are written beside records of calls alone, so all calls are recorded. Choosing those that launch work by
// cuptiActivityEnableRuntimeApi and -DriverApi tells of no call at all once there is a context (seen with CUPTI 13.0 on
// an H200). Most libraries launch by the driver's functions, our kernels by the runtime's.
constexpr std::array kKinds{CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION,
                            CUPTI_ACTIVITY_KIND_RUNTIME,
                            CUPTI_ACTIVITY_KIND_DRIVER,
                            CUPTI_ACTIVITY_KIND_MEMCPY,
                            CUPTI_ACTIVITY_KIND_MEMCPY2,
                            CUPTI_ACTIVITY_KIND_MEMSET,
                            CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL};  // never KERNEL, under which kernels run one by one

// CUPTI's callbacks are handed nothing of ours, so what they fill can only be reached through the process.
struct Sink {
  std::mutex guard;
  Records records;
};
/// Never destroyed: CUPTI hands over its last buffers when the process ends, behind our destructors.
Sink& sink() {
  static Sink* const one = new Sink;
  return *one;
}

void CUPTIAPI give_buffer(std::uint8_t** buffer, std::size_t* size, std::size_t* most_records) {
  *buffer = static_cast<std::uint8_t*>(std::aligned_alloc(kAlignment, kBuffer));
  *size = *buffer ? kBuffer : 0;
  *most_records = 0;  // as many as fit
}

void CUPTIAPI take_buffer(CUcontext context, std::uint32_t stream, std::uint8_t* buffer, std::size_t,
                          std::size_t bytes) {
  {
    const std::lock_guard lock(sink().guard);
    decode(buffer, bytes, sink().records);
    std::size_t dropped = 0;
    if (cuptiActivityGetNumDroppedRecords(context, stream, &dropped) == CUPTI_SUCCESS)
      sink().records.dropped += dropped;
  }
  std::free(buffer);
}

template <class T>
void set_attribute(CUpti_ActivityAttribute attribute, T value) {
  std::size_t size = sizeof value;
  check(cuptiActivitySetAttribute(attribute, &size, &value), "cuptiActivitySetAttribute");
}

void CUPTIAPI ignore(void*, CUpti_CallbackDomain, CUpti_CallbackId, const void*) {}

/// Activity records could be had without; subscribing tells whether another client is there, and who.
CUpti_SubscriberHandle subscribe() {
  CUpti_SubscriberHandle subscriber = nullptr;
  std::array<char, CUPTI_OLD_SUBSCRIBER_NAME_MIN_LEN + 1> other{};
  CUpti_SubscriberParams parameters{};
  parameters.structSize = CUpti_SubscriberParams_STRUCT_SIZE;
  parameters.subscriberName = "forerun";
  parameters.oldSubscriberName = other.data();
  parameters.oldSubscriberSize = CUPTI_OLD_SUBSCRIBER_NAME_MIN_LEN;
  const CUptiResult status = cuptiSubscribe_v2(&subscriber, ignore, nullptr, &parameters);
  if (status == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED) {
    const std::string name = other[0] ? other.data() : "Nsight, cuda-gdb or compute-sanitizer";
    throw base::DeviceError("the GPU cannot be recorded: another profiler is at work (" + name + "); run without it");
  }
  check(status, "cuptiSubscribe");
  return subscriber;
}

}  // namespace

void expect_no_other_profiler() { check(cuptiUnsubscribe(subscribe()), "cuptiUnsubscribe"); }

Collector::Collector() : subscriber_(subscribe()) {
  try {
    set_attribute<std::uint8_t>(CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER, 0);
    set_attribute(CUPTI_ACTIVITY_ATTR_DEVICE_BUFFER_SIZE, kDeviceBuffer);
    check(cuptiActivityRegisterCallbacks(give_buffer, take_buffer), "cuptiActivityRegisterCallbacks");
    for (const auto kind : kKinds) check(cuptiActivityEnable(kind), "cuptiActivityEnable");
  } catch (...) {
    cuptiUnsubscribe(subscriber_);
    throw;
  }
}

/// What is still in CUPTI's buffers comes now, or it would with the next collector's.
Collector::~Collector() {
  cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
  {
    const std::lock_guard lock(sink().guard);
    sink().records = {};
  }
  for (const auto kind : kKinds) cuptiActivityDisable(kind);
  cuptiUnsubscribe(subscriber_);
}

Records Collector::take() {
  check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");  // flushing does not wait for the device
  check(cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED), "cuptiActivityFlushAll");
  const std::lock_guard lock(sink().guard);
  return std::exchange(sink().records, {});
}

OperatorScope::OperatorScope(OperatorInstance instance) {
  check(cuptiActivityPushExternalCorrelationId(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0, instance),
        "cuptiActivityPushExternalCorrelationId");
}

OperatorScope::~OperatorScope() {
  std::uint64_t last = 0;
  cuptiActivityPopExternalCorrelationId(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0, &last);
}

}  // namespace real
