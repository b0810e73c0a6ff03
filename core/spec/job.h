// core/spec/job.h -- what is trained, on what, and how it is cut. Plain values: no I/O, no pointers, no speed.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/base/fault.h"
#include "core/spec/cluster.h"
#include "core/spec/framework.h"
#include "core/spec/model.h"
#include "core/spec/network_algorithm.h"
#include "core/spec/outages.h"
#include "core/spec/stated.h"
#include "core/spec/strategy.h"
#include "core/spec/training.h"
#include "core/spec/uncertainty.h"

namespace spec {

/// How collectives are priced: a closed form, flows of each axis alone, or those of all axes that overlap.
enum class Fidelity { closed_form, flow, coupled };
template <>
inline constexpr auto kNamesOf<Fidelity> = spelt("closed_form", "flow", "coupled");

struct Network {
  Fidelity fidelity = Fidelity::closed_form;
  Algorithm algorithm = Algorithm::automatic;
};

struct SlowRank {
  int rank = 0;
  double factor = 1;  // its kernels take this many times as long
};

struct Simulation : Outages {
  bool unfold = false;  // run every rank instead of one for each role
  double jitter = 0;    // relative standard deviation of a kernel's time
  std::vector<SlowRank> slow_ranks;
};

struct Job {
  Model model;
  Cluster cluster;
  Training training;
  Strategy strategy;
  Framework framework;
  Network network;
  Simulation simulation;
  Uncertainty uncertainty;
  std::vector<std::string> assumptions;  // what resolve() filled in: "attention_kernel: cudnn (best of hopper)"
  std::optional<Stated> stated;          // what it filled in was before; none: the job is not resolved
};

/// Every rule that ties the parts together, checked once, here. Empty means sound; otherwise all faults, not the first.
/// check() names the field; config/ knows in which file, line and column that field was written. What this version
/// does not support is a fault of its own that names the combination. The job may be resolved or not.
std::vector<base::Fault> check(const Job&);

/// The part of check() that is about this version: what a Job may say and nothing computes yet, each by name.
std::vector<base::Fault> unsupported(const Job&);

/// Things worth telling that are no faults: a sequence beyond the model's own maximum, tensor parallelism across nodes,
/// an uncalibrated GPU.
std::vector<std::string> warnings(const Job&);

/// The job with everything filled in that the user left out: dp, attention kernel (best of the GPU's generation), fused
/// kernels and overlap (of the framework); a vocabulary that tp does not divide is padded to the next multiple of tp.
/// What the user wrote stays; what was filled in and has an effect is told in `assumptions`. REQUIRES:
/// check(job).empty()
Job resolve(Job job);

/// The fastest attention kernel that runs for this GPU, precision and head dimension in this framework.
AttentionKernel best_attention(const Job&);
/// Whether the framework runs the model's attention by it at all: values of latent attention are narrower than keys.
bool attention_is_usual(AttentionKernel, const Job&);
/// Whether Transformer Engine's userbuffers are on offer: sequence parallel, NVLink, no experts between the linears,
/// NVIDIA's GPUs with fp8 and operands of 8 bits and more.
bool offers_userbuffers(const Job&);
/// The first kind of GPU of the job for which no such kernel exists in its precision and head dimension, or for the
/// keys that its indexer chose; null where all have it.
const Gpu* gpu_without(AttentionKernel, const Job&);

/// Microbatches of one replica in a step. REQUIRES: resolved.
inline std::int64_t microbatches(const Job& job) {
  return job.training.global_batch / (job.training.micro_batch * job.strategy.data());
}

}  // namespace spec
