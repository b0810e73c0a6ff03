// tests/real/calibrate/fake_bench.h -- a device of known curves with a clock of its own, so that what calibration finds
// can be compared with what is true. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "core/base/fault.h"
#include "real/calibrate/bench.h"
#include "real/calibrate/cost.h"
#include "sim/calibrate/measured_row.h"
#include "sim/network/closed_form.h"
#include "sim/network/collective_table.h"

namespace fake {

/// Kernels take what `device` says, times up to 1 % more or less; the rest what the constants below say.
class Bench : public real::Bench {
 public:
  static constexpr double kComputeSlowdown = 1.2, kCommSlowdown = 1.1, kSustained = 0.9;
  static constexpr base::ByteRate kHostRate = base::GBps(50);
  static constexpr base::Seconds kEvents = base::us(1.3);  // which every operator's time holds

  explicit Bench(sim::Device device) : device_(sim::short_run(device)) {}

  std::vector<base::Seconds> time(const real::Shape& shape, base::Seconds most) override {
    if (before_each) before_each(shape);
    clock_ += setup;
    const base::Seconds once = std::visit([&](const auto& s) { return exact(s); }, shape);
    if (std::holds_alternative<real::Sustained>(shape)) {
      clock_ += most;
      return std::vector<base::Seconds>(real::kSamples, once);
    }
    std::vector<base::Seconds> out;
    const base::Seconds end = clock_ + most;
    while (out.size() < real::kSamples && clock_ < end) {
      out.push_back(once * (1 + noise(real::key(shape), out.size())));
      clock_ += out.back() + base::us(100);
    }
    return out;
  }
  real::Condition condition() override {
    return {"FAKE", base::Hertz(1.8e9), base::Hertz(3.2e9), base::Watts(500), 50, {}};
  }
  base::Seconds now() override { return clock_; }

  std::function<void(const real::Shape&)> before_each;
  base::Seconds setup = base::ms(15);
  std::optional<spec::Cluster> cluster;  // whose links collectives run over; none: there is one GPU

 private:
  /// From -1 % to 1 %, of the shape and the repetition alone.
  static double noise(const std::string& key, std::size_t repetition) {
    std::uint64_t hash = 1469598103934665603ull + repetition;  // FNV-1a
    for (const char c : key) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211ull;
    return 0.01 * (static_cast<double>(hash >> 11) / static_cast<double>(1ull << 52) - 1);
  }

  base::Seconds kernel(std::variant<config::MatmulRow, config::AttentionRow, config::MemoryRow> shape) const {
    config::MeasuredKernel row;
    row.shape = std::move(shape);
    return sim::time_of(row, device_, device_);
  }
  base::Seconds exact(const config::MatmulRow& s) const { return kernel(s) + kEvents; }
  base::Seconds exact(const config::AttentionRow& s) const { return kernel(s) + kEvents; }
  base::Seconds exact(const real::MemoryOperator& s) const {
    return kernel(config::MemoryRow{static_cast<int>(real::kind_of(s).priced_as), real::bytes_of(s)}) + kEvents;
  }
  base::Seconds exact(const real::HostCopy& s) const {
    return base::Bytes(static_cast<double>(s.bytes)) / kHostRate * (s.beside_matmul ? 1.25 : 1);
  }
  base::Seconds exact(const real::Launch& s) const {
    return s.what == real::Launch::What::events ? kEvents : base::us(3);
  }
  base::Seconds exact(const real::Beside& s) const {
    const bool copy = s.subject == real::Beside::Subject::copy;
    if (copy) return base::ms(5) * (s.crowded ? kCommSlowdown : 1);
    if (s.subject == real::Beside::Subject::matmul) return kernel(real::kReferenceMatmul) * kComputeSlowdown;
    return kernel(real::reference_attention(config::AttentionRow::Passes::forward)) * kComputeSlowdown;
  }
  base::Seconds exact(const real::Sustained&) const { return kernel(real::kReferenceMatmul) / kSustained; }
  base::Seconds exact(const real::CollectiveShape& s) const {
    if (!cluster) throw base::DeviceError("there is one GPU");
    spec::Cluster on = *cluster;
    on.nodes = s.nodes;
    const plan::Collective work{*sim::collective_named(real::name(s.op)), s.bytes,
                                sim::group_of_nodes(on, s.ranks / s.nodes)};
    return sim::price(work, on).time;
  }

  sim::Device device_;
  base::Seconds clock_;
};

}  // namespace fake
