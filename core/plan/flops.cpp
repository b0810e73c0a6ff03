// SPDX-License-Identifier: Apache-2.0
#include "core/plan/flops.h"

#include <algorithm>

#include "core/spec/parameters.h"

namespace plan {
namespace {

/// Pairs of (query, key) that one head scores in one sequence.
double scored_pairs(double s, bool causal, double window) {
  if (window <= 0 || window >= s) return causal ? s * s / 2 : s * s;
  return causal ? window * s - window * window / 2 : window * s;
}

double layers_recomputed(const spec::Job& job) {
  const spec::Recompute& recompute = job.strategy.recompute;
  if (recompute.layers == 0) return job.model.layers + job.model.mtp;
  return std::min<double>(job.model.layers + job.model.mtp, double{1} * recompute.layers * job.strategy.pp);
}

}  // namespace

ForwardFlops forward_flops(const spec::Model& model, std::int64_t sequence, std::int64_t document) {
  const double s = static_cast<double>(sequence), h = static_cast<double>(model.hidden);
  const double q = static_cast<double>(model.q_width()), kv = static_cast<double>(model.kv_width());
  ForwardFlops out;
  const double attention =
      model.mla ? static_cast<double>(spec::latent_attention_weights(model)) : h * (q + 2 * kv) + q * h;
  out.linear = 2 * s * (attention + h * static_cast<double>(model.up_width()) + static_cast<double>(model.ffn) * h);
  const double d = document > 0 ? static_cast<double>(document) : s;
  const double full = s / d * scored_pairs(d, model.causal, 0);
  const double banded = s / d * scored_pairs(d, model.causal, static_cast<double>(model.window));
  const double share = model.window > 0 ? 1.0 / model.window_every : 0.0;
  const double lanes = q + static_cast<double>(model.heads) * model.value_head_dim();  // scores; values
  out.attention = 2 * lanes * (share * banded + (1 - share) * full);
  out.head = 2 * s * h * static_cast<double>(model.vocab);
  return out;
}

namespace {

/// Of one module, one forward of one sequence.
double multi_token_projection(const spec::Job& job) {
  const double h = static_cast<double>(job.model.hidden);
  return 2 * static_cast<double>(job.training.sequence) * 2 * h * h;
}

}  // namespace

double model_flops(const spec::Job& job) {
  const ForwardFlops one = forward_flops(job.model, job.training.sequence, spec::document_length(job.training));
  const double batch = static_cast<double>(job.training.global_batch);
  return 3 * batch *
         (job.model.layers * (one.linear + one.attention) + one.head +
          job.model.mtp * (one.linear + one.attention + one.head + multi_token_projection(job)));
}

double hardware_flops(const spec::Job& job) {
  const ForwardFlops one = forward_flops(job.model, job.training.sequence, spec::document_length(job.training));
  const double batch = static_cast<double>(job.training.global_batch);
  double again = 0;
  switch (job.strategy.recompute.kind) {
    case spec::Recompute::Kind::full: again = layers_recomputed(job) * (one.linear + one.attention); break;
    case spec::Recompute::Kind::selective: again = (job.model.layers + job.model.mtp) * one.attention; break;
    case spec::Recompute::Kind::selective_ops: again = (job.model.layers + job.model.mtp) * one.linear / 2; break;
    case spec::Recompute::Kind::none: break;
  }
  return model_flops(job) + batch * again;
}

}  // namespace plan
