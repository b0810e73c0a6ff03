// SPDX-License-Identifier: Apache-2.0
#include "core/spec/weights_met.h"

#include "core/spec/parameters.h"

namespace spec {
namespace {

double mixer_weights_met(const Model& model, Mixer kind) {
  if (kind == Mixer::none) return 0;
  if (kind == Mixer::recurrent) return static_cast<double>(recurrent_weights(model));
  if (model.mla) return static_cast<double>(latent_attention_weights(model));
  const double h = static_cast<double>(model.hidden), q = static_cast<double>(model.q_width());
  return h * static_cast<double>(model.gated_q_width() + 2 * model.kv_width()) + q * h;
}

}  // namespace

double feed_forward_weights_met(const Model& model, FeedForward kind) {
  if (kind == FeedForward::none) return 0;
  const double h = static_cast<double>(model.hidden), matrices = model.gated_mlp ? 3 : 2;
  if (kind == FeedForward::dense) return matrices * h * static_cast<double>(model.ffn);
  const Moe& moe = *model.moe;
  const double routed = static_cast<double>(model.expert_width() * moe.top_k * moe.ffn);
  return matrices * routed +
         h * (matrices * static_cast<double>(moe.shared_ffn) + moe.experts + 2.0 * static_cast<double>(moe.latent));
}

double weights_met(const Model& model, LayerParts parts) {
  return mixer_weights_met(model, parts.mixer) + feed_forward_weights_met(model, parts.feed_forward);
}

}  // namespace spec
