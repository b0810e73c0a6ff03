// tests/support/toy.h -- jobs made by hand for tests that need no catalogue: a small GPT on GPUs of 1 PFLOP/s and 1
// TB/s under a framework that costs nothing, so that times and bytes can be worked out on paper.
//
//   const spec::Job job = toy::job({.tp = 2, .pp = 4, .microbatches = 8});
//   const spec::Job other = toy::job({.tp = 2}, [](spec::Job& j) { j.model.causal = false; });
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>

#include "core/spec/job.h"

namespace toy {

/// How the toy is cut. Everything else is changed on the job itself.
struct Cut {
  int tp = 1;
  bool sp = false;
  int pp = 1, vpp = 1, dp = 1;
  int zero = 0;
  std::int64_t microbatches = 1;                          // of one replica
  std::int64_t micro_batch = 1;                           // sequences
  spec::Schedule schedule = spec::Schedule::one_f_one_b;  // interleaved when vpp > 1
  spec::Recompute recompute = {};
  spec::AttentionKernel attention = spec::AttentionKernel::flash2;
};

/// 4 layers, h = 256, 8 heads of 32, ffn = 4 h, V = 2048, s = 128: no two dimensions are equal.
inline spec::Model model() {
  spec::Model m;
  m.name = "toy";
  m.layers = 4;
  m.hidden = 256;
  m.heads = m.kv_heads = 8;
  m.head_dim = 32;
  m.ffn = 1024;
  m.vocab = 2048;
  m.norm = spec::Norm::layernorm;
  m.position = spec::Position::learned;
  m.max_positions = 128;
  m.bias = true;
  return m;
}

/// 1 PFLOP/s in bf16 and fp16 (half in tf32, a sixteenth in fp32), 1 TB/s, 80 GB; an Ampere by generation.
inline spec::Gpu gpu() {
  spec::Gpu g;
  g.name = "toy";
  g.generation = spec::Generation::ampere;
  g.sms = 100;
  g.clock = base::Hertz(1e9);
  g.peak[static_cast<int>(spec::Dtype::bf16)] = base::TFLOPps(1000);
  g.peak[static_cast<int>(spec::Dtype::fp16)] = base::TFLOPps(1000);
  g.peak[static_cast<int>(spec::Dtype::tf32)] = base::TFLOPps(500);
  g.peak[static_cast<int>(spec::Dtype::fp32)] = base::TFLOPps(62.5);
  g.memory = base::GB(80);
  g.hbm = base::GBps(1000);
  g.l2 = base::MiB(40);
  g.power = base::Watts(400);
  return g;
}

/// Links at their full rate with no latency.
inline spec::NetworkCalibration ideal_links() {
  spec::NetworkCalibration links;
  links.name = "ideal";
  for (spec::PathCurve* curve :
       {&links.all_reduce, &links.all_gather, &links.reduce_scatter, &links.all_to_all, &links.send}) {
    curve->efficiency = 1;
    curve->residual = 0;
  }
  return links;
}

/// NVLink of 100 GB/s among all GPUs of a node; a NIC of 10 GB/s for each GPU. Up to 8 ranks are one node; more are
/// nodes of 8, or one large node where 8 does not divide them.
inline spec::Cluster cluster(int ranks) {
  spec::Cluster c;
  c.node.name = "toy";
  c.node.gpu = gpu();
  c.node.calibration.compute_slowdown = c.node.calibration.comm_slowdown = 1;
  c.node.links = ideal_links();
  c.node.gpus = ranks % 8 == 0 ? 8 : ranks;
  c.nodes = ranks / c.node.gpus;
  c.node.nvlink = {
      .bandwidth = base::GBps(100), .domain = c.node.gpus, .via = spec::Switch::nvswitch, .multicast = false};
  c.node.nic = {.bandwidth = base::GBps(10), .count = c.node.gpus, .kind = spec::NicKind::infiniband};
  c.node.pcie.bandwidth = base::GBps(20);
  c.node.host = {.memory = base::GB(1000), .bandwidth = base::GBps(100)};
  c.fabric.name = "toy";
  c.fabric.calibration = ideal_links();
  return c;
}

/// A host without cost, every kernel fused, nothing overlapped, one bucket for all.
inline spec::Framework framework() {
  spec::Framework f;
  f.name = "none";
  f.fused = {true, true, true, true, true, true, true, {}};
  f.overlap.tp = spec::TpOverlap::none;
  return f;
}

/// Before resolve(): for tests that change what resolve() looks at (ranks, precision, framework).
inline spec::Job draft(const Cut& cut = {}) {
  spec::Job j;
  j.model = model();
  j.cluster = cluster(cut.tp * cut.pp * cut.dp);
  j.framework = framework();
  j.training.sequence = 128;
  j.training.micro_batch = cut.micro_batch;
  j.training.global_batch = cut.microbatches * cut.micro_batch * cut.dp;
  spec::Strategy& s = j.strategy;
  s.framework = "none";
  s.tp = cut.tp;
  s.sp = cut.sp;
  s.sp_given = true;
  s.pp = cut.pp;
  s.vpp = cut.vpp;
  s.dp = cut.dp;
  s.zero = cut.zero;
  s.schedule = cut.vpp > 1 ? spec::Schedule::interleaved : cut.schedule;
  s.recompute = cut.recompute;
  s.attention_kernel = cut.attention;
  return j;
}

/// Resolved. A toy that breaks a rule is a fault of the test: it throws std::logic_error with the first broken one.
inline spec::Job resolved(spec::Job j) {
  if (const std::vector<base::Fault> faults = spec::check(j); !faults.empty()) {
    throw std::logic_error("toy: " + faults.front().field + " " + faults.front().what);
  }
  return spec::resolve(std::move(j));
}

inline spec::Job job(const Cut& cut = {}) { return resolved(draft(cut)); }

/// `change` sees the job before it is checked and resolved.
template <class Change>
spec::Job job(const Cut& cut, Change change) {
  spec::Job j = draft(cut);
  change(j);
  return resolved(std::move(j));
}

}  // namespace toy
