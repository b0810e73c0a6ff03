// tests/real/executor/random_strategies.h -- combinations that nobody thought of: strategies of tiny models, drawn at
// random for 8 ranks. Not all of them are allowed. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "tests/real/executor/tiny.h"

namespace tiny {

class StrategyDraw {
 public:
  explicit StrategyDraw(unsigned seed) : random_(seed) {}
  template <class T>
  T of(std::initializer_list<T> choices) {
    return *(choices.begin() + random_() % choices.size());
  }
  bool coin() { return random_() % 2 == 0; }

  spec::Job job() {
    const spec::Model model =
        of({llama(4), gpt(4), moe(4), qk_norm(4), parallel(1, 4), parallel(2, 4), latent(12, 4), latent(0, 4), sinks(4),
            router_bias(4), alibi(4, 4), ahead(llama(4), 1), ahead(gpt(4), 2), ahead(moe(4), 1)});
    toy::Cut cut;
    cut.tp = of({1, 1, 2, 2, 4});
    cut.sp = coin();
    cut.pp = of({1, 2, 4});
    const int cp = of({1, 2});
    cut.dp = std::max(1, 8 / (cut.tp * cut.pp * cp));
    cut.zero = of({0, 1, 1, 2, 3});
    cut.vpp = cut.pp == 2 && coin() ? 2 : 1;
    using enum spec::Schedule;
    cut.schedule = of({gpipe, one_f_one_b, zb_h1, zb_h2, zb_v, dualpipe});
    spec::Job j = draft(model, cut);
    j.cluster = toy::cluster(cut.tp * cut.pp * cut.dp * cp);
    spec::Strategy& s = j.strategy;
    s.optimizer_barrier = true;
    s.cp = cp;
    s.cp_kind = of({spec::CpKind::ring, spec::CpKind::all_gather, spec::CpKind::ulysses});
    s.cp_balance = of({spec::CpBalance::zigzag, spec::CpBalance::none});
    using enum spec::Recompute::Kind;
    s.recompute.kind = of({none, selective, selective_ops, full});
    s.overlap.grad_reduce = coin();
    s.overlap.param_gather = coin();
    s.overlap.p2p = coin();
    using Tp = spec::TpOverlap;
    s.overlap.tp = of({Tp::none, Tp::wgrad, Tp::chunked, Tp::userbuffers});
    s.fused_kernels.grad_accumulation = coin();
    if (model.moe) {
      s.ep = of({1, 2, 4});
      s.etp = of({1, 2});
      s.etp_given = true;
      using enum spec::MoeDispatcher;
      s.moe_dispatcher = of({alltoall, allgather, deepep});
      s.overlap.expert = s.moe_dispatcher != allgather && coin();
      s.overlap.shared_expert = coin();
      // A capacity is a rank's: choices are those of one rank where each has whole sequences.
      if (cut.tp == 1 && cp == 1 && coin()) s.moe_capacity_factor = of({0.5, 1.75}), s.moe_pad_to_capacity = coin();
    }
    if (cut.zero > 0 && cut.dp % 2 == 0 && coin()) s.shard = 2;
    if (of({0, 0, 1})) s.lora = {.rank = 4, .qkv = coin(), .proj = true, .ffn = coin()};
    if (of({0, 0, 1})) {
      j.cluster.node.pcie.bandwidth = base::GBps(10);
      j.cluster.node.host.memory = base::GB(100);
      j.cluster.node.host.bandwidth = base::GBps(100);
      s.offload_given = true;
      s.offload.activations = coin();
      if (cut.zero > 0 && coin()) s.offload.optimizer = spec::Offload::To::cpu;
      j.framework.optimizer_tile = base::Bytes(of({0, 4000}));
    }
    using Packed = std::optional<spec::Packing>;
    j.training.packing =
        of({Packed{}, Packed{}, Packed{{.lengths = {5, 2}}}, Packed{{.lengths = {}, .mean = 3, .deviation = 2}}});
    j.framework.separate_linears = coin();
    j.framework.attention_copies = coin();
    j.framework.scatter_gather_pipeline = coin();
    j.framework.keeps_gathered = coin();
    j.framework.bucketed_units = coin();
    j.framework.unit_copies = j.framework.bucket_copies = coin();  // of zero 3 and of zero 0
    j.framework.all_reduces_shards = coin();
    j.framework.sums_replicas_last = coin();
    j.framework.each_optimizer_gathers = coin();
    j.framework.expands_kv = coin();
    j.framework.ring_gathers = coin();
    j.framework.gradient_bucket = j.framework.parameter_bucket = base::Bytes(of({0, 1000, 20000}));
    j.training.dropout = of({0.0, 0.0, 0.2});
    // The first two steps, which are compared, see no moment that was rounded (optimizers_test.cpp).
    using enum spec::Optimizer;
    j.training.optimizer = of({adamw, adamw, sgd, adamw8bit});
    return j;
  }

 private:
  std::mt19937 random_;
};

inline std::string told(const spec::Job& j) {
  const spec::Strategy& s = j.strategy;
  return testing::PrintToString(std::vector<int>{s.tp, s.sp, s.pp, s.vpp, s.cp, *s.dp, s.zero, s.shard, s.ep, s.etp,
                                                 static_cast<int>(s.schedule), static_cast<int>(s.recompute.kind)}) +
         ' ' + j.model.name + (s.lora ? " with adapters" : "") + (s.offload.any() ? " with offload" : "") +
         (j.training.drops() ? " with dropout" : "") + (j.training.packing ? " in documents" : "") +
         (s.moe_dispatcher == spec::MoeDispatcher::allgather ? " with tokens gathered" : "") +
         (s.moe_capacity_factor ? s.pads_experts() ? " with a padded capacity" : " with a capacity" : "") + " by " +
         std::string(spec::name(j.training.optimizer));
}

/// Of the draw of this seed, if it is allowed and computed.
inline std::optional<spec::Job> drawn_job(unsigned seed) {
  const spec::Job job = StrategyDraw(seed).job();
  if (!spec::check(job).empty()) return std::nullopt;
  spec::Job out = spec::resolve(job);
  if (!real::unsupported(out, plan::build(out)).empty()) return std::nullopt;
  return out;
}

}  // namespace tiny
