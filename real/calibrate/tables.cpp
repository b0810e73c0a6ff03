// SPDX-License-Identifier: Apache-2.0
#include "real/calibrate/tables.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/plan/work.h"

namespace real {
namespace {

using config::AttentionRow;
using config::MatmulRow;

// Boost clocks are up to 8 % above those that peaks are stated at.
constexpr double kAbovePeak = 1.1, kAboveMemory = 1.05;
constexpr double kFullClock = 0.93;    // of the highest seen: what power or heat held below says nothing of others
constexpr double kLeastOfATime = 0.5;  // that is not the events'
constexpr std::int64_t kWhole = 8;     // elements: rows of a matrix that begin elsewhere run other, slow kernels

base::Hertz highest_clock(const Points& points) {
  base::Hertz highest;
  for (const MeasuredPoint& point : points.points) highest = std::max(highest, point.condition.sm_clock);
  return highest;
}

double flops_of(const MatmulRow& s) {
  return 2 * static_cast<double>(s.m) * static_cast<double>(s.n) * static_cast<double>(s.k) *
         static_cast<double>(s.batch);
}

double flops_of(const AttentionRow& s) {
  return plan::hardware_flops(plan::Attention{.kernel = spec::AttentionKernel::cudnn,
                                              .batch = s.batch,
                                              .q_len = s.q_len,
                                              .kv_len = s.kv_len,
                                              .heads = s.heads,
                                              .kv_heads = s.kv_heads,
                                              .head_dim = s.head_dim,
                                              .causal = s.causal,
                                              .backward = s.passes == AttentionRow::Passes::backward});
}

class Rows {
 public:
  Rows(const Points& points, const spec::Gpu& gpu)
      : machine_(points.machine), gpu_(gpu), full_clock_(highest_clock(points) * kFullClock) {
    source_ = tables.source(source_of(machine_));
    for (const MeasuredPoint& point : points.points) {
      const auto* launch = std::get_if<Launch>(&point.shape);
      if (launch && launch->what == Launch::What::events && point.void_because.empty()) events_ = point.median;
    }
  }

  void add(const MeasuredPoint& point) {
    if (!point.void_because.empty()) return void(++tables.left_out["void points: " + point.void_because]);
    whole_ = point.median;
    time_ = std::max(point.median - events_, point.median * kLeastOfATime);
    slow_clock_ = point.condition.sm_clock < full_clock_;
    std::visit([&](const auto& shape) { add(shape); }, point.shape);
  }

  config::KernelTables tables;

 private:
  void add(const MatmulRow& s) {
    if (s.n % kWhole != 0 || (s.over_tokens() ? s.m : s.k) % kWhole != 0)
      return leave_out("matmuls with sides of no multiple of 8");
    if (slow_clock_) return leave_out("matmuls at clocks held down");
    keep(s, too_fast(flops_of(s), s.dtype), "matmuls");
  }
  void add(const AttentionRow& s) {
    if (slow_clock_) return leave_out("attention at clocks held down");
    keep(s, too_fast(flops_of(s), s.dtype), "attention");
  }
  void add(const MemoryOperator& s) {
    const auto moved = bytes_of(s);
    const bool too_fast = base::Bytes(static_cast<double>(moved)) / time_ > gpu_.hbm * kAboveMemory;
    keep(config::MemoryRow{static_cast<int>(kind_of(s).priced_as), moved}, too_fast, "memory-bound operators");
  }
  void add(const CollectiveShape& s) {
    tables.collectives.push_back({.op = std::string(name(s.op)),
                                  .gpu = source_of(machine_),  // what a curve's source tells of its rows
                                  .bytes = s.bytes,
                                  .ranks = s.ranks,
                                  .nodes = s.nodes,
                                  .gpus_per_node = machine_.gpus,
                                  .time = whole_,
                                  .source = source_});
  }
  template <class Figure>
  void add(const Figure&) {}

  void leave_out(const char* why) { ++tables.left_out[why]; }
  bool too_fast(double flops, spec::Dtype dtype) const {
    const base::FlopRate peak = gpu_.peak_of(dtype);
    return peak.si() > 0 && base::Flops(flops) / time_ > peak * kAbovePeak;
  }
  void keep(std::variant<MatmulRow, AttentionRow, config::MemoryRow> shape, bool too_fast, const char* what) {
    if (too_fast) return void(++tables.left_out[std::string(what) + " faster than the data sheet allows: wrong"]);
    tables.rows.push_back({machine_.gpu, source_, std::move(shape), time_, false});
  }

  const Machine& machine_;
  const spec::Gpu& gpu_;
  base::Hertz full_clock_;
  int source_;
  base::Seconds whole_, time_;  // with the events around it, and without
  base::Seconds events_;        // what two with nothing between take
  bool slow_clock_ = false;
};

}  // namespace

std::string source_of(const Machine& m) {
  return fmt::format("forerun on {}, {}, driver {}, {}", m.gpu, m.date, m.driver, m.libraries);
}

config::KernelTables tables_of(const Points& points, const spec::Gpu& gpu) {
  Rows rows(points, gpu);
  for (const MeasuredPoint& point : points.points) rows.add(point);
  return std::move(rows.tables);
}

spec::Calibration calibration_for(const Points& points, const spec::Gpu& gpu, spec::Calibration shelf,
                                  const std::string& name) {
  shelf.name = name;
  shelf.gpu = gpu.name;
  shelf.measured_as = {points.machine.gpu};
  spec::AttentionCurve& cudnn = shelf.attention[static_cast<int>(spec::AttentionKernel::cudnn)];
  for (const MeasuredPoint& point : points.points) {
    const auto* attention = std::get_if<AttentionRow>(&point.shape);
    const bool timed = attention && point.void_because.empty();
    if (timed && attention->passes == AttentionRow::Passes::backward) cudnn.backward_measured = true;
  }
  return shelf;
}

}  // namespace real
