// tests/sim/random_jobs.h -- sound toy jobs drawn from a seed, over everything that changes a schedule: degrees,
// schedules, recomputation, overlaps, launch costs, interference. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <random>

#include "core/spec/rank_order.h"
#include "tests/support/toy.h"

namespace random_jobs {

class Source {
 public:
  explicit Source(unsigned seed) : random_(seed) {}

  int below(int n) { return static_cast<int>(random_() % static_cast<unsigned>(n)); }
  bool coin() { return below(2) == 0; }
  template <class T>
  T one_of(std::initializer_list<T> values) {
    return values.begin()[below(static_cast<int>(values.size()))];
  }

  spec::Job job() {
    using Kind = spec::Recompute::Kind;
    toy::Cut cut;
    cut.tp = one_of({1, 2, 4});
    cut.pp = one_of({1, 2, 4});
    cut.vpp = cut.pp > 1 ? one_of({1, 1, 2, 3}) : 1;
    cut.dp = one_of({1, 2, 3, 4});
    cut.sp = coin();
    cut.zero = one_of({0, 1, 2, 3});
    cut.microbatches = cut.vpp > 1 ? cut.pp * one_of({1, 2, 3}) : 1 + below(9);
    cut.micro_batch = one_of({1, 2});
    cut.schedule = one_of({spec::Schedule::gpipe, spec::Schedule::one_f_one_b});
    cut.recompute = one_of<spec::Recompute>({{Kind::none, 0}, {Kind::selective, 0}, {Kind::full, 0}, {Kind::full, 1}});
    cut.attention = one_of({spec::AttentionKernel::flash2, spec::AttentionKernel::unfused});
    return toy::job(cut, [&](spec::Job& j) {
      j.model.layers = cut.pp * cut.vpp * one_of({1, 2});
      j.model.gated_mlp = coin();
      j.model.parallel_block = below(4) == 0;
      j.model.tied_embeddings = coin();
      j.model.kv_heads = one_of({1, 4, 8});
      j.model.position = one_of({spec::Position::rope, spec::Position::learned});
      j.training.dropout = one_of({0.0, 0.1});
      spec::Overlap& overlap = j.strategy.overlap;
      spec::Framework& f = j.framework;
      overlap.grad_reduce = coin();
      overlap.param_gather = coin();
      overlap.p2p = coin();
      overlap.tp = one_of(
          {spec::TpOverlap::none, spec::TpOverlap::wgrad, spec::TpOverlap::chunked, spec::TpOverlap::userbuffers});
      j.strategy.compile = below(4) == 0;
      if (below(4) == 0) {
        j.cluster.node.gpu.peak[static_cast<int>(spec::Dtype::fp8)] = base::TFLOPps(2000);
        j.training.precision = spec::Dtype::fp8;
        j.training.fp8_recipe = one_of({spec::Fp8Recipe::delayed, spec::Fp8Recipe::tensorwise, spec::Fp8Recipe::rowwise,
                                        spec::Fp8Recipe::blockwise});
        f.keeps_casts = coin();
      }
      if (below(4) == 0) {
        j.strategy.lora = spec::Lora{.rank = 8, .qkv = coin(), .proj = true, .ffn = coin()};
        j.strategy.lora->base = one_of({spec::LoraBase::bf16, spec::LoraBase::int8, spec::LoraBase::nf4});
      }
      if (below(4) == 0) j.strategy.cuda_graphs = spec::CudaGraphs::whole;
      f.launch = base::us(below(8));
      f.backward_launch = base::us(below(8));
      f.compiled_launch = base::us(below(4));
      f.collective_launch = base::us(below(16));
      f.step = base::us(below(1000));
      f.gradient_bucket = base::Bytes(one_of({0.0, 3e5, 4e6}));
      f.parameter_bucket = base::Bytes(one_of({0.0, 3e5, 4e6}));
      f.bucket_ranks = below(3);
      f.whole_later_chunks = coin();
      f.synchronizes_each_reduce = below(4) == 0;
      f.scatter_gather_pipeline = coin();
      j.strategy.launch_blocking = f.synchronizes_each_reduce && f.scatter_gather_pipeline && !j.strategy.cuda_graphs;
      f.bucket_copies = !f.whole_later_chunks;  // without a draw of its own: jobs stay what they were
      if (j.strategy.zero >= 2) {
        f.unit_copies = coin();
        f.bucketed_units = coin();
        f.fp32_shards = coin();
        spec::Fsdp& fsdp = j.strategy.fsdp;
        j.strategy.fsdp_given = j.strategy.zero == 3;
        if (j.strategy.fsdp_given) fsdp = {one_of({0, 1, 2}), below(4), below(3), coin(), coin()};
      }
      if (j.strategy.zero >= 1 && cut.dp == 4 && coin()) j.strategy.shard = one_of({2, 4});
      f.synchronizes_p2p = coin();
      f.fused = {coin(), coin(), coin(), coin(), coin(), coin(), f.synchronizes_p2p,
                 {}};  // no draw more: later ones stay
      j.cluster.node.calibration.compute_slowdown = one_of({1.0, 1.08, 1.5});
      j.cluster.node.calibration.comm_slowdown = one_of({1.0, 1.05, 1.7});
      for (spec::NetworkCalibration* links : {&j.cluster.node.links, &j.cluster.fabric.calibration}) {
        for (spec::PathCurve* curve : {&links->all_reduce, &links->all_gather, &links->reduce_scatter, &links->send}) {
          curve->latency = base::us(below(20));
          curve->hop = base::us(below(4));
        }
      }
      if (!j.model.parallel_block && (cut.sp || cut.tp == 1) && coin()) add_experts(j);
      j.strategy.rank_order = one_of({"tp-cp-dp-pp", "tp-cp-pp-dp", "pp-tp-dp-cp", "dp-cp-tp-pp"});
      if (!spec::rank_order_faults(j).empty()) j.strategy.rank_order = "tp-cp-dp-pp";
      j.model.mtp = one_of({0, 0, 0, 1, 2});
      if (below(3) == 0 && !j.model.parallel_block) j.model.mla = spec::Mla{one_of({0, 48}), 32, 8, 16, 40};
      if (below(4) == 0) j.training.packing = spec::Packing{{}, 32, 16};
    });
  }

 private:
  void add_experts(spec::Job& j) {
    spec::Strategy& s = j.strategy;
    const int ranks = s.tp * s.data();
    j.model.moe = spec::Moe{.experts = 12, .top_k = 1 + below(3), .ffn = 256, .every = one_of({1, 2})};
    j.model.moe->shared_ffn = one_of({0, 256});
    s.ep = one_of({1, 2, 3, 4});
    if (ranks % s.ep != 0) s.ep = 1;
    s.etp = ranks % (2 * s.ep) == 0 && coin() ? 2 : 1;
    s.moe_imbalance = s.ep > 1 ? one_of({1.0, 1.3}) : 1.0;
    s.moe_dispatcher =
        one_of({spec::MoeDispatcher::alltoall, spec::MoeDispatcher::allgather, spec::MoeDispatcher::deepep});
    s.overlap.shared_expert = coin();
  }

  std::mt19937 random_;
};

/// The cut in words, for failures.
inline std::string text(const spec::Job& j) {
  const spec::Strategy& s = j.strategy;
  return "tp " + std::to_string(s.tp) + (s.sp ? " sp" : "") + " pp " + std::to_string(s.pp) + " vpp " +
         std::to_string(s.vpp) + " dp " + std::to_string(s.data()) + " zero " + std::to_string(s.zero) + " schedule " +
         std::to_string(static_cast<int>(s.schedule)) + " order " + s.rank_order + (j.model.mla ? " mla" : "") +
         " mtp " + std::to_string(j.model.mtp) + " batch " + std::to_string(j.training.global_batch) + " layers " +
         std::to_string(j.model.layers) + " p2p " + std::to_string(*s.overlap.p2p) + " tp overlap " +
         std::to_string(static_cast<int>(*s.overlap.tp)) + " reduce " + std::to_string(*s.overlap.grad_reduce) +
         " gather " + std::to_string(*s.overlap.param_gather);
}

}  // namespace random_jobs
