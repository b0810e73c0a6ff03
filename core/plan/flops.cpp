// SPDX-License-Identifier: Apache-2.0
#include "core/plan/flops.h"

#include <algorithm>

namespace plan {
namespace {

/// Pairs of (query, key) that one head scores in one sequence.
double scored_pairs(double s, bool causal, double window) {
  if (window <= 0 || window >= s) return causal ? s * s / 2 : s * s;
  return causal ? window * s - window * window / 2 : window * s;
}

double layers_recomputed(const spec::Job& job) {
  const spec::Recompute& recompute = job.strategy.recompute;
  if (recompute.layers == 0) return job.model.layers;
  return std::min<double>(job.model.layers, double{1} * recompute.layers * job.strategy.pp);
}

}  // namespace

ForwardFlops forward_flops(const spec::Model& model, std::int64_t sequence) {
  const double s = static_cast<double>(sequence), h = static_cast<double>(model.hidden);
  const double q = static_cast<double>(model.q_width()), kv = static_cast<double>(model.kv_width());
  ForwardFlops out;
  out.linear =
      2 * s *
      (h * (q + 2 * kv) + q * h + h * static_cast<double>(model.up_width()) + static_cast<double>(model.ffn) * h);
  const double full = scored_pairs(s, model.causal, 0);
  const double banded = scored_pairs(s, model.causal, static_cast<double>(model.window));
  const double share = model.window > 0 ? 1.0 / model.window_every : 0.0;
  out.attention = 4 * q * (share * banded + (1 - share) * full);
  out.head = 2 * s * h * static_cast<double>(model.vocab);
  return out;
}

namespace {

/// Of one prefill, whose head sees the last token of each prompt alone, or of one token for each sequence.
double serving_flops(const spec::Job& job) {
  const bool decodes = job.training.mode == spec::Mode::decode;
  ForwardFlops one = forward_flops(job.model, decodes ? 1 : job.training.sequence);
  if (decodes) {
    const double q = static_cast<double>(job.model.q_width());
    const std::int64_t seen = job.training.attended(), window = job.model.window;
    const double share = window > 0 ? 1.0 / job.model.window_every : 0.0;
    const double banded = static_cast<double>(window > 0 ? std::min(window, seen) : seen);
    one.attention = 4 * q * (share * banded + (1 - share) * static_cast<double>(seen));
  }
  one.head = 2 * static_cast<double>(job.model.hidden) * static_cast<double>(job.model.vocab);
  return static_cast<double>(job.training.global_batch) * (job.model.layers * (one.linear + one.attention) + one.head);
}

}  // namespace

double model_flops(const spec::Job& job) {
  if (job.model.is_list()) {
    return 6 * static_cast<double>(job.training.global_batch) * spec::totals(job.model.list).multiply_adds;
  }
  if (job.training.serves()) return serving_flops(job);
  const ForwardFlops one = forward_flops(job.model, job.training.sequence);
  const double batch = static_cast<double>(job.training.global_batch);
  return 3 * batch * (job.model.layers * (one.linear + one.attention) + one.head);
}

double hardware_flops(const spec::Job& job) {
  if (job.training.serves() || job.model.is_list()) return model_flops(job);
  const ForwardFlops one = forward_flops(job.model, job.training.sequence);
  const double batch = static_cast<double>(job.training.global_batch);
  double again = 0;
  switch (job.strategy.recompute.kind) {
    case spec::Recompute::Kind::full: again = layers_recomputed(job) * (one.linear + one.attention); break;
    case spec::Recompute::Kind::selective: again = job.model.layers * one.attention; break;
    case spec::Recompute::Kind::selective_ops: again = job.model.layers * one.linear / 2; break;
    case spec::Recompute::Kind::none: break;
  }
  return model_flops(job) + batch * again;
}

}  // namespace plan
