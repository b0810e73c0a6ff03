// SPDX-License-Identifier: Apache-2.0
#include "real/calibrate/usage.h"

#include <algorithm>
#include <bit>
#include <map>
#include <optional>

#include "core/base/fault.h"
#include "core/config/job_reader.h"
#include "core/plan/build.h"
#include "real/calibrate/cost.h"

namespace real {
namespace {

using What = MemoryOperator::What;
using Kind = plan::MemoryBound::Kind;

constexpr std::int64_t kLeastSide = 256;  // shorter sides are left out of fits
constexpr std::int64_t kLeastOfExperts = 16;
constexpr int kWidest = 256;  // heads that cuDNN takes

/// Those of experts; no library adds their weight gradients to fp32 sums by one kernel.
std::optional<Shape> grouped_shape(const plan::Matmul& w) {
  if (w.accumulates || std::min({w.m, w.n, w.k}) < kLeastOfExperts) return {};
  return config::MatmulRow{
      .m = w.m, .n = w.n, .k = w.k, .batch = w.batch, .dtype = w.dtype, .out = w.out, .grouped = true};
}

std::optional<Shape> shape_of(const plan::Matmul& w) {
  if (w.grouped) return grouped_shape(w);
  if (w.batch != 1 || std::min({w.m, w.n, w.k}) < kLeastSide) return {};
  return config::MatmulRow{.m = w.m,
                           .n = w.n,
                           .k = w.k,
                           .dtype = w.dtype,
                           .out = w.out,
                           .accumulates = w.accumulates,
                           .input_gradient = w.pass == plan::Matmul::Pass::input_gradient,
                           .weight_gradient = w.pass == plan::Matmul::Pass::weight_gradient && !w.accumulates};
}

std::optional<Shape> shape_of(const plan::Attention& w) {
  const bool plain = w.window == 0 && w.document == 0 && w.q_len == w.kv_len && w.value_dim() == w.head_dim;
  if (!plain || w.head_dim > kWidest) return {};
  return config::AttentionRow{
      .passes = w.backward ? config::AttentionRow::Passes::backward : config::AttentionRow::Passes::forward,
      .kernel = spec::AttentionKernel::cudnn,
      .batch = w.batch,
      .q_len = w.q_len,
      .kv_len = w.kv_len,
      .heads = w.heads,
      .kv_heads = w.kv_heads,
      .head_dim = w.head_dim,
      .value_head_dim = w.head_dim,
      .causal = w.causal};
}

/// The operator that stands for a kind.
std::optional<What> operator_of(Kind kind) {
  switch (kind) {
    case Kind::elementwise: return What::swiglu_forward;
    case Kind::norm:
    case Kind::eager_norm: return What::norm_forward;
    case Kind::embedding: return What::embedding;
    case Kind::loss: return What::loss_gradient;
    case Kind::optimizer: return What::adamw;
    case Kind::copy: return What::copy;
    case Kind::reduce: return What::squared_norm;
    case Kind::cast: return What::cast;
    case Kind::softmax: return What::softmax;
  }
  return {};
}

std::optional<Shape> shape_of(const plan::MemoryBound& w) {
  const std::optional<What> what = operator_of(w.kind);
  if (!what || w.read + w.written < kSmallestMemory || w.read + w.written > kLargestMemory) return {};
  MemoryOperator one{*what, 1, *what == What::loss_gradient ? kVocabulary : kWidth};
  one.rows = static_cast<std::int64_t>(std::bit_ceil(static_cast<std::uint64_t>((w.read + w.written) / bytes_of(one))));
  return one;
}

template <class Other>
std::optional<Shape> shape_of(const Other&) {
  return {};
}

/// Calls of each work in a step of the role.
std::vector<double> calls_of(const plan::Plan& plan, const plan::Role& role) {
  std::vector<double> of_segment(plan.segments.size()), out(plan.works.size());
  for (const plan::Call& call : role.calls) ++of_segment[static_cast<std::size_t>(call.segment)];
  for (std::size_t i = 0; i < plan.segments.size(); ++i) {
    for (const plan::Operator& op : plan.segments[i].operators) {
      out[static_cast<std::size_t>(op.work)] += of_segment[i];
    }
  }
  return out;
}

config::Value job_tree(const std::string& model, int tp) {
  return config::parse("{model: " + model +
                           ", cluster: {node: dgx-h100, nodes: 1}, training: {sequence: 4096, global_batch: 8, "
                           "micro_batch: 1, precision: bf16, optimizer: adamw}, strategy: {tp: " +
                           std::to_string(tp) +
                           ", attention_kernel: cudnn, fused_kernels: {norm: true, rope: true, activation: true, "
                           "cross_entropy: true, grad_accumulation: true}}}",
                       "calibrate");
}

/// Nothing: the model cannot be cut so, or not be trained so at all.
std::optional<plan::Plan> plan_of(const std::string& model, int tp, const config::Catalogue& catalogue) {
  try {
    return plan::build(config::read_job(job_tree(model, tp), catalogue));
  } catch (const base::InputError&) {
    return {};
  }
}

}  // namespace

std::vector<Used> usage_of(const plan::Plan& plan) {
  const std::vector<double> calls = calls_of(plan, plan.roles.front());
  std::vector<Used> out;
  double total = 0;
  for (std::size_t i = 0; i < plan.works.size(); ++i) {
    if (calls[i] == 0) continue;
    const auto shape = std::visit([](const auto& work) { return shape_of(work); }, plan.works[i]);
    if (!shape) continue;
    out.push_back({*shape, calls[i] * repetition(*shape).si()});
    total += out.back().share;
  }
  for (Used& one : out) one.share /= total;
  return out;
}

std::vector<Used> usage_of_models(const config::Catalogue& catalogue, const std::vector<std::string>& models) {
  std::map<std::string, Used> all;
  const config::Catalogue once = catalogue.remembering();
  for (const std::string& model : models) {
    for (const int tp : {1, 2, 4, 8}) {
      const auto plan = plan_of(model, tp, once);
      if (!plan) continue;
      for (const Used& one : usage_of(*plan)) {
        all.try_emplace(key(one.shape), Used{one.shape, 0}).first->second.share +=
            one.share / 4 / static_cast<double>(models.size());
      }
    }
  }
  std::vector<Used> out;
  for (auto& [key, used] : all) out.push_back(std::move(used));
  return out;
}

}  // namespace real
