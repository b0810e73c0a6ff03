// SPDX-License-Identifier: Apache-2.0
#include "sim/calibrate/measured_row.h"

#include <cmath>

namespace sim {
namespace {

/// The dynamic cast of A from 16 bits: one kernel finds the largest number, one casts; 5 bytes an element in all.
base::Seconds cast(const config::MatmulRow& row, const Device& device) {
  const std::int64_t numbers = row.m * row.k * row.batch;
  return price(plan::MemoryBound{plan::MemoryBound::Kind::cast, 4 * numbers, numbers, 2}, device).time;
}

plan::Matmul::Pass pass_of(const config::MatmulRow& row) {
  if (row.over_tokens()) return plan::Matmul::Pass::weight_gradient;
  return row.input_gradient ? plan::Matmul::Pass::input_gradient : plan::Matmul::Pass::forward;
}

base::Seconds priced(const config::MatmulRow& row, const Device& device) {
  const plan::Matmul work{.m = row.m,
                          .n = row.n,
                          .k = row.k,
                          .batch = row.batch,
                          .dtype = row.dtype,
                          .out = row.out,
                          .accumulates = row.accumulates,
                          .grouped = row.grouped,
                          .pass = pass_of(row)};
  const base::Seconds time = price(work, device).time;
  return row.holds_cast ? time + cast(row, device) : time;
}

base::Seconds priced(const config::AttentionRow& row, const Device& device) {
  plan::Attention work{.kernel = kernel_of(row, device.gpu),
                       .batch = row.batch,
                       .q_len = row.q_len,
                       .kv_len = row.kv_len,
                       .heads = row.heads,
                       .kv_heads = row.kv_heads,
                       .head_dim = row.head_dim,
                       .causal = row.causal,
                       .dtype = row.dtype,
                       .value_head_dim = row.value_head_dim};
  base::Seconds time;
  if (row.passes != config::AttentionRow::Passes::backward) time = price(work, device).time;
  work.backward = true;
  if (row.passes != config::AttentionRow::Passes::forward) time = time + price(work, device).time;
  return time;
}

base::Seconds priced(const config::MemoryRow& row, const Device& device) {
  return price(plan::MemoryBound{static_cast<plan::MemoryBound::Kind>(row.kind), row.bytes, 0, 1}, device).time;
}

}  // namespace

Device short_run(const Device& device) {
  Device cool = device;
  cool.calibration.power = {};
  return cool;
}

spec::AttentionKernel kernel_of(const config::AttentionRow& row, const spec::Gpu& gpu) {
  if (row.kernel) return *row.kernel;
  return traits_of(gpu.generation).best_attention;
}

base::Seconds time_of(const config::MeasuredKernel& row, const Device& cool, const Device& sustained) {
  const Device& device = row.sustained ? sustained : cool;
  return std::visit([&](const auto& shape) { return priced(shape, device); }, row.shape);
}

std::vector<double> log_errors(const MeasuredRows& rows, const Device& device) {
  const Device cool = short_run(device);
  std::vector<double> out;
  out.reserve(rows.size());
  for (const config::MeasuredKernel* row : rows) out.push_back(std::log(time_of(*row, cool, device) / row->time));
  return out;
}

double rounded(double value) {
  if (value == 0) return 0;
  const double unit = std::pow(10.0, 3 - std::floor(std::log10(std::abs(value))));
  return std::round(value * unit) / unit;
}

}  // namespace sim
