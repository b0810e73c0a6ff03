// SPDX-License-Identifier: Apache-2.0
#include "real/gpu/bench/gpu_bench.h"

#include <fmt/format.h>

#include <concepts>
#include <stdexcept>

#include "core/base/fault.h"
#include "real/gpu/condition.h"

namespace real {
namespace {

constexpr base::Bytes kArena = base::GiB(24);  // the largest points take half of it

template <class S>
concept Operator = requires(const S& shape, Kit& kit) {
  { prepared(shape, kit) } -> std::same_as<Work>;
};

/// A kernel that failed leaves a device on which every later call fails: all points behind it would be void for
/// nothing.
void expect_alive() {
  if (const cudaError_t state = cudaDeviceSynchronize(); state != cudaSuccess) {
    throw std::runtime_error(
        fmt::format("the last point has broken the GPU's context, go on with --resume: {}", cudaGetErrorString(state)));
  }
}

}  // namespace

GpuBench::GpuBench(const World& world, DeviceFacts device) : device_(std::move(device)), kit_(kArena) {
  if (world.identity.world > 1) collectives_.emplace(world);
}

template <class S>
std::vector<base::Seconds> GpuBench::time_of(const S& shape, base::Seconds most) {
  if constexpr (std::same_as<S, CollectiveShape>) {
    if (!collectives_) throw base::DeviceError("collectives need two GPUs");
    return collectives_->timed(shape, kit_.arena, kit_.stream, most);
  } else if constexpr (Operator<S>) {
    return timed(prepared(shape, kit_), kit_, most);
  } else {
    return timed(shape, kit_, most);
  }
}

std::vector<base::Seconds> GpuBench::time(const Shape& shape, base::Seconds most) {
  expect_alive();
  kit_.arena.clear();
  if (collectives_ && !std::holds_alternative<CollectiveShape>(shape)) collectives_->keep_waiting();
  try {
    auto times = std::visit([&](const auto& one) { return time_of(one, most); }, shape);
    check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    return times;
  } catch (const kernels::DeviceError& refused) {
    throw base::DeviceError(refused.what());
  }
}

Condition GpuBench::condition() { return condition_of(device_, nvml_); }

void GpuBench::end() {
  if (collectives_) collectives_->end();
}

void GpuBench::follow() { collectives_->follow(kit_.arena, kit_.stream); }

}  // namespace real
