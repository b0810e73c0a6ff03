// SPDX-License-Identifier: Apache-2.0
#include "core/spec/autocast.h"

#include "core/spec/fillers.h"

namespace spec {

std::string no_autocast(const Job& job) {
  const Model& m = job.model;
  const Strategy& s = job.strategy;
  const Training& t = job.training;
  if (t.serves()) return "prefill and decode";
  if (t.precision != Dtype::bf16 && t.precision != Dtype::fp16) return "a precision other than bf16 and fp16";
  if (!t.keeps_master()) return "weights in 16 bits (master_weights: false)";
  if (t.gradients() != Dtype::fp32) return "gradients in 16 bits";
  if (job.framework.keeps_casts) return "framework " + job.framework.name;  // whose weights are in 16 bits
  if (s.zero > 1) return "zero 2 and 3, which cast the shards that they gather";
  if (s.tp > 1 || s.pp > 1 || s.cp > 1 || s.ep > 1 || s.etp > 1) return "tp, pp, cp or ep above 1";
  if (s.lora) return "adapters";
  if (s.recompute.kind == Recompute::Kind::selective_ops) return "recomputation by operators";
  if (m.is_list()) return "a list of layers";
  if (m.moe) return "experts";
  if (m.mla) return "latent attention";
  return {};
}

void fill_autocast(Job& job) {
  const bool usual = job.framework.autocasts && no_autocast(job).empty();
  Filler(job, "default of " + job.framework.name).fill(job.training.autocast, usual, "autocast", usual);
}

}  // namespace spec
