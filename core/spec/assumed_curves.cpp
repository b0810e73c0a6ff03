// core/spec/assumed_curves.cpp -- see the header. SPDX-License-Identifier: Apache-2.0
#include "core/spec/assumed_curves.h"

namespace spec {
namespace {

const AttentionCurve kSparse{
    .forward = 0.72,
    .backward = 0.42,
    .ramp = 243,
    .backward_ramp = 243,
    .index = 0.41,
    .overhead = base::Seconds(4e-6),
    .from = {.measured = false, .source = "assumed: sparse attention as on Hopper, by the peak", .residual = 0.3}};

const Provenance kOtherCards{.measured = false, .source = "assumed: as on H200, by bandwidth", .residual = 0.35};
constexpr base::Seconds kTail(3e-6);
const RecurrenceCurve kMamba2{.forward = 0.435, .backward = 0.24, .overhead = kTail, .from = kOtherCards};
const RecurrenceCurve kGatedDelta{.forward = 0.71,
                                  .backward = 0.74,
                                  .chunk = base::Seconds(0.9e-6),
                                  .backward_chunk = base::Seconds(3.5e-6),
                                  .overhead = kTail,
                                  .from = kOtherCards};

void assume_curves(const Job& job, Calibration& card) {
  if (job.model.recurrent) {
    RecurrenceCurve& scan = card.recurrence[static_cast<std::size_t>(job.model.recurrent->kind)];
    if (!(scan.forward > 0)) scan = assumed_scan(job.model.recurrent->kind);
  }
  AttentionCurve& sparse = card.attention[static_cast<std::size_t>(AttentionKernel::sparse)];
  if (job.strategy.attention_kernel == AttentionKernel::sparse && !(sparse.forward > 0))
    sparse = assumed_sparse_attention();
}

}  // namespace

const AttentionCurve& assumed_sparse_attention() { return kSparse; }

const RecurrenceCurve& assumed_scan(Recurrent::Kind kind) {
  return kind == Recurrent::Kind::mamba2 ? kMamba2 : kGatedDelta;
}

void assume_curves(Job& job) {
  assume_curves(job, job.cluster.node.calibration);
  for (NodeGroup& group : job.cluster.groups) assume_curves(job, group.node.calibration);
}

}  // namespace spec
