// real/gpu/bench/gpu_bench.h -- a Bench on one GPU, or as rank 0 of several. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "real/calibrate/bench.h"
#include "real/cuda/device.h"
#include "real/cuda/nvml.h"
#include "real/gpu/bench/collectives.h"
#include "real/gpu/bench/kit.h"
#include "real/gpu/bench/stopwatch.h"

namespace real {

class GpuBench final : public Bench {
 public:
  /// On the device that is current. Every rank of `world` makes one at the same time; rank 0 times, the others
  /// follow().
  GpuBench(const World& world, DeviceFacts device);

  std::vector<base::Seconds> time(const Shape&, base::Seconds most) override;
  Condition condition() override;
  base::Seconds now() override { return watch_.passed(); }

  /// Lets the others go. Rank 0.
  void end();
  /// Takes part in what rank 0 times, until it ends. The others.
  void follow();
  const Nvml& nvml() const { return nvml_; }

 private:
  template <class S>
  std::vector<base::Seconds> time_of(const S&, base::Seconds most);

  DeviceFacts device_;
  Nvml nvml_;
  Kit kit_;
  std::optional<Collectives> collectives_;  // of more than one rank
  Stopwatch watch_;
};

}  // namespace real
