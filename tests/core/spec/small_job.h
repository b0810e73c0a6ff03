// tests/core/spec/small_job.h -- a sound Job of round numbers, to be bent by tests, and what check() finds then.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "core/spec/job.h"

namespace spec {

/// 24 layers of 1024 with 16 heads (4 kv) on 2 nodes of 8 Hopper GPUs; 64 sequences of 1024 tokens; all degrees 1.
inline Job small_job() {
  Job job;
  job.model.name = "small";
  job.model.layers = 24;
  job.model.hidden = 1024;
  job.model.heads = 16;
  job.model.kv_heads = 4;
  job.model.head_dim = 64;
  job.model.ffn = 4096;
  job.model.vocab = 32000;
  Node& node = job.cluster.node;
  node.gpus = 8;
  node.gpu.name = "chip";
  node.gpu.generation = Generation::hopper;
  node.gpu.memory = base::GB(80);
  node.gpu.hbm = base::GBps(3000);
  for (const Dtype d : {Dtype::fp32, Dtype::fp16, Dtype::bf16, Dtype::fp8}) {
    node.gpu.peak[static_cast<int>(d)] = base::TFLOPps(1000);
  }
  node.nvlink = {base::GBps(450), 8, Switch::nvswitch, true};
  node.nic = {base::GBps(25), 8, NicKind::infiniband};
  node.pcie = {base::GBps(63), true, {}};
  job.cluster.nodes = 2;
  job.training.sequence = 1024;
  job.training.global_batch = 64;
  job.framework.name = "megatron";
  return job;
}

/// Does resolve() tell of it?
inline bool assumed(const Job& job, const std::string& what) {
  return std::ranges::find(job.assumptions, what) != job.assumptions.end();
}

/// The fields that check() finds fault with, in its order.
inline std::vector<std::string> fields(const Job& job) {
  std::vector<std::string> out;
  for (const base::Fault& fault : check(job)) {
    EXPECT_FALSE(fault.what.empty());
    EXPECT_FALSE(fault.mend.empty());
    out.push_back(fault.field);
  }
  return out;
}
using Fields = std::vector<std::string>;

Job with(auto bend) {
  Job job = small_job();
  bend(job);
  return job;
}

}  // namespace spec
