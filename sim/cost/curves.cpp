// sim/cost/curves.cpp -- look-up of curves, and the data sheet's own.
// SPDX-License-Identifier: Apache-2.0
#include "sim/cost/curves.h"

namespace sim {
namespace {

// A roofline is a lower bound: half of log(2) as a standard deviation says how far kernels usually stay away.
const spec::Provenance kDataSheet{.measured = false, .source = "data sheet, no calibration", .residual = 0.35};
const spec::MatmulCurve kIdealMatmul{.ceiling = 1, .overhead = {}, .from = kDataSheet};
const spec::AttentionCurve kIdealAttention{.forward = 1, .backward = 1, .overhead = {}, .from = kDataSheet};
const spec::MemoryCurve kIdealMemory{.efficiency = 1, .overhead = {}, .from = kDataSheet};

// Where a card's own are not known: FlashMLA's forward on H800, cuDNN's backward on H200, as shares of the peak.
const spec::AttentionCurve kSparse{
    .forward = 0.72,
    .backward = 0.42,
    .ramp = 243,
    .backward_ramp = 243,
    .index = 0.41,
    .overhead = base::Seconds(4e-6),
    .from = {.measured = false, .source = "assumed: sparse attention as on Hopper, by the peak", .residual = 0.3}};

// Triton's kernels as on H200, in the pace of its memory.
const spec::Provenance kOtherCards{.measured = false, .source = "assumed: as on H200, by bandwidth", .residual = 0.35};
constexpr base::Seconds kTail(3e-6);
const spec::RecurrenceCurve kMamba2{.forward = 0.435, .backward = 0.24, .overhead = kTail, .from = kOtherCards};
const spec::RecurrenceCurve kGatedDelta{.forward = 0.71,
                                        .backward = 0.74,
                                        .chunk = base::Seconds(0.9e-6),
                                        .backward_chunk = base::Seconds(3.5e-6),
                                        .overhead = kTail,
                                        .from = kOtherCards};

}  // namespace

const spec::MatmulCurve& matmul_curve(const spec::Calibration& calibration, spec::Dtype dtype) {
  const auto& curve = calibration.matmul[static_cast<std::size_t>(dtype)];
  return curve.ceiling > 0 ? curve : kIdealMatmul;
}

const spec::AttentionCurve& attention_curve(const spec::Calibration& calibration, spec::AttentionKernel kernel) {
  const auto& curve = calibration.attention[static_cast<std::size_t>(kernel)];
  if (curve.forward > 0) return curve;
  if (kernel == spec::AttentionKernel::sparse) return kSparse;
  const auto& flash2 = calibration.attention[static_cast<std::size_t>(spec::AttentionKernel::flash2)];
  return flash2.forward > 0 ? flash2 : kIdealAttention;
}

const spec::MemoryCurve& memory_curve(const spec::Calibration& calibration, plan::MemoryBound::Kind kind) {
  static_assert(static_cast<int>(plan::MemoryBound::Kind::eager_norm) + 1 == spec::kMemoryKinds);
  const auto& curve = calibration.memory[static_cast<std::size_t>(kind)];
  if (curve.efficiency > 0) return curve;
  if (kind == plan::MemoryBound::Kind::cast) return memory_curve(calibration, plan::MemoryBound::Kind::copy);
  if (kind == plan::MemoryBound::Kind::eager_norm) return memory_curve(calibration, plan::MemoryBound::Kind::norm);
  return kIdealMemory;
}

const spec::RecurrenceCurve& recurrence_curve(const spec::Calibration& calibration, spec::Recurrent::Kind kind) {
  const auto at = static_cast<std::size_t>(kind);
  if (calibration.recurrence[at].forward > 0) return calibration.recurrence[at];
  return kind == spec::Recurrent::Kind::mamba2 ? kMamba2 : kGatedDelta;
}

}  // namespace sim
