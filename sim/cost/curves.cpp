// sim/cost/curves.cpp -- look-up of curves, and the data sheet's own.
// SPDX-License-Identifier: Apache-2.0
#include "sim/cost/curves.h"

#include "core/spec/assumed_curves.h"

namespace sim {
namespace {

// A roofline is a lower bound: half of log(2) as a standard deviation says how far kernels usually stay away.
const spec::Provenance kDataSheet{.measured = false, .source = "data sheet, no calibration", .residual = 0.35};
const spec::MatmulCurve kIdealMatmul{.ceiling = 1, .overhead = {}, .from = kDataSheet};
const spec::AttentionCurve kIdealAttention{.forward = 1, .backward = 1, .overhead = {}, .from = kDataSheet};
const spec::MemoryCurve kIdealMemory{.efficiency = 1, .overhead = {}, .from = kDataSheet};

}  // namespace

const spec::MatmulCurve& matmul_curve(const spec::Calibration& calibration, spec::Dtype dtype) {
  const auto& curve = calibration.matmul[static_cast<std::size_t>(dtype)];
  return curve.ceiling > 0 ? curve : kIdealMatmul;
}

const spec::AttentionCurve& attention_curve(const spec::Calibration& calibration, spec::AttentionKernel kernel) {
  const auto& curve = calibration.attention[static_cast<std::size_t>(kernel)];
  if (curve.forward > 0) return curve;
  if (kernel == spec::AttentionKernel::sparse) return spec::assumed_sparse_attention();
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
  return spec::assumed_scan(kind);
}

}  // namespace sim
