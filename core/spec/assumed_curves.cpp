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

/// By what xFormers' kernel takes on A100: 165 and 184 TFLOP/s forward with heads of 64 and 128 at 1,024 tokens
/// (facebookresearch/xformers pull request 587), 66 backward with heads of 64 at 4,096 (pytorch/pytorch pull request
/// 101847), no mask, where flash2 takes 175, 197 and 164; and on H100 forward, 145 beside flash2's 230 at 256 tokens
/// (microsoft/onnxruntime pull request 21629).
AttentionCurve mem_efficient(const AttentionCurve& flash2, Generation generation) {
  constexpr double kBackward = 0.4;
  AttentionCurve out = flash2;
  out.forward *= traits_of(generation).mem_efficient_forward;
  out.backward *= kBackward;
  out.from = {.measured = false,
              .source = "assumed: by flash2, as on A100 and, forward, on H100, without a mask",
              .residual = 0.25};
  return out;
}

void assume_curves(const Job& job, Node& node) {
  Calibration& card = node.calibration;
  if (job.model.recurrent) {
    RecurrenceCurve& scan = card.recurrence[static_cast<std::size_t>(job.model.recurrent->kind)];
    if (!(scan.forward > 0)) scan = assumed_scan(job.model.recurrent->kind);
  }
  AttentionCurve& sparse = card.attention[static_cast<std::size_t>(AttentionKernel::sparse)];
  if (job.strategy.attention_kernel == AttentionKernel::sparse && !(sparse.forward > 0))
    sparse = assumed_sparse_attention();
  AttentionCurve& masked = card.attention[static_cast<std::size_t>(AttentionKernel::mem_efficient)];
  const AttentionCurve& flash2 = card.attention[static_cast<std::size_t>(AttentionKernel::flash2)];
  if (job.strategy.attention_kernel == AttentionKernel::mem_efficient && !(masked.forward > 0))
    masked = mem_efficient(flash2, node.gpu.generation);
}

}  // namespace

const AttentionCurve& assumed_sparse_attention() { return kSparse; }

const RecurrenceCurve& assumed_scan(Recurrent::Kind kind) {
  return kind == Recurrent::Kind::mamba2 ? kMamba2 : kGatedDelta;
}

void assume_curves(Job& job) {
  assume_curves(job, job.cluster.node);
  for (NodeGroup& group : job.cluster.groups) assume_curves(job, group.node);
}

}  // namespace spec
