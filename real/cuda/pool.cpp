// SPDX-License-Identifier: Apache-2.0
#include "real/cuda/pool.h"

#include <fmt/format.h>

#include <utility>

#include "core/base/fault.h"
#include "core/base/text.h"
#include "real/cuda/device.h"

namespace real {

namespace {

bool takes_part(cudaStream_t stream) {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  return cudaStreamIsCapturing(stream, &status) == cudaSuccess && status == cudaStreamCaptureStatusActive;
}

}  // namespace

DeviceBuffer::~DeviceBuffer() {
  if (!data_) return;
  pool_->give_back(*this);
}

void DeviceBuffer::swap(DeviceBuffer& other) noexcept {
  std::swap(pool_, other.pool_);
  std::swap(stream_, other.stream_);
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  std::swap(category_, other.category_);
  std::swap(captured_, other.captured_);
}

Pool::Pool(int device) : device_(device) {
  cudaMemPoolProps properties{};
  properties.allocType = cudaMemAllocationTypePinned;
  properties.location = {};
  properties.location.type = cudaMemLocationTypeDevice;
  properties.location.id = device;
  check(cudaMemPoolCreate(&pool_, &properties), "cudaMemPoolCreate");
  std::uint64_t keep_all = ~0ull;
  check(cudaMemPoolSetAttribute(pool_, cudaMemPoolAttrReleaseThreshold, &keep_all), "cudaMemPoolSetAttribute");
  int no = 0;  // or one stream would be made to wait for another that the Plan lets run beside it
  check(cudaMemPoolSetAttribute(pool_, cudaMemPoolReuseAllowInternalDependencies, &no), "cudaMemPoolSetAttribute");
}

Pool::~Pool() { cudaMemPoolDestroy(pool_); }

void Pool::expect_taken(cudaError_t status, const char* call, plan::Category category, std::int64_t bytes) const {
  if (status == cudaErrorMemoryAllocation) {
    const auto human = [](std::int64_t n) { return base::human(base::Bytes(static_cast<double>(n))); };
    throw base::DeviceError(fmt::format("{} more ({}) do not fit on GPU {} of {}; taken are {}", human(bytes),
                                        plan::kCategoryNames[static_cast<std::size_t>(category)], device_,
                                        base::human(facts(device_).memory), to_string(ledger_.now())));
  }
  check(status, call);
}

cudaError_t Pool::take_waiting(void** data, std::size_t bytes, const Stream& stream) const {
  const auto taken = [&] {
    const cudaError_t status = cudaMallocFromPoolAsync(data, bytes, pool_, stream.get());
    if (status == cudaErrorMemoryAllocation)
      cudaGetLastError();  // not a lasting error, and no kernel's that comes next
    return status;
  };
  cudaError_t status = taken();
  if (capturing_ || !room_.wait_for_all) return status;  // a graph's memory is taken when it runs
  while (status == cudaErrorMemoryAllocation && room_.wait_for_oldest()) status = taken();
  if (status != cudaErrorMemoryAllocation) return status;
  room_.wait_for_all();
  return taken();
}

DeviceBuffer Pool::take(plan::Category category, std::int64_t bytes, const Stream& stream) {
  DeviceBuffer out;
  if (bytes == 0) return out;
  expect_taken(take_waiting(&out.data_, static_cast<std::size_t>(bytes), stream), "cudaMallocFromPoolAsync", category,
               bytes);
  out.pool_ = this;
  out.stream_ = stream.get();
  out.bytes_ = bytes;
  out.category_ = category;
  out.captured_ = capturing_;
  ledger_.take(category, bytes);
  return out;
}

/// Memory of a graph that outlives its capture is the graph's.
void Pool::give_back(DeviceBuffer& buffer) {
  ledger_.give(buffer.category_, buffer.bytes_);
  if (!capturing_) {
    if (!buffer.captured_) cudaFreeAsync(buffer.data_, buffer.stream_);
  } else if (!buffer.captured_) {
    kept_.emplace_back(buffer.data_, buffer.stream_);
  } else if (joined_ != nullptr) {
    cudaFreeAsync(buffer.data_, joined_->get());
  } else if (takes_part(buffer.stream_)) {
    cudaFreeAsync(buffer.data_, buffer.stream_);
  } else {
    late_.push_back(buffer.data_);
  }
}

void Pool::give_back_on(const Stream* stream) {
  joined_ = stream;
  if (stream == nullptr) return;
  for (void* data : late_) cudaFreeAsync(data, stream->get());
  late_.clear();
}

void Pool::let_go() {
  for (const auto& [data, stream] : kept_) cudaFreeAsync(data, stream);
  kept_.clear();
}

void Pool::trim() {
  check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");  // or what was just given back is not back yet
  check(cudaMemPoolTrimTo(pool_, 0), "cudaMemPoolTrimTo");
  std::uint64_t reset = 0;  // the one value that it takes
  check(cudaMemPoolSetAttribute(pool_, cudaMemPoolAttrReservedMemHigh, &reset), "cudaMemPoolSetAttribute");
}

std::int64_t Pool::reserved_peak() const {
  std::uint64_t bytes = 0, of_graphs = 0;
  check(cudaMemPoolGetAttribute(pool_, cudaMemPoolAttrReservedMemHigh, &bytes), "cudaMemPoolGetAttribute");
  check(cudaDeviceGetGraphMemAttribute(device_, cudaGraphMemAttrReservedMemHigh, &of_graphs),
        "cudaDeviceGetGraphMemAttribute");
  return static_cast<std::int64_t>(bytes + of_graphs);
}

}  // namespace real
