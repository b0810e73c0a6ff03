// core/spec/resolve_overlap.cpp -- what runs beside compute, and what the host issues, where the Job says nothing
// (declared in fillers.h). SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <optional>
#include <string>

#include "core/spec/fillers.h"
#include "core/spec/software_age.h"

namespace spec {
namespace {

/// `recipe`: nothing that the Job states of overlaps tells otherwise.
void fill_tp_overlap(Job& job, Filler& of_framework, bool recipe) {
  Strategy& s = job.strategy;
  if (s.overlap.tp) return;
  s.overlap.tp = recipe && offers_userbuffers(job) && job.framework.tp_of_fp8_gpus
                     ? *job.framework.tp_of_fp8_gpus
                     : job.framework.overlap.tp.value_or(TpOverlap::none);
  if (s.tp > 1) of_framework.tell("overlap.tp", std::string(name(*s.overlap.tp)), "default of " + job.framework.name);
}

}  // namespace

bool offers_userbuffers(const Job& job) {
  const Node& node = job.cluster.node;
  return job.strategy.sp && !job.model.moe && !job.model.is_list() && node.gpu.computes(Dtype::fp8) &&
         !traits_of(node.gpu.generation).amd && node.nvlink.via != Switch::none && job.strategy.tp <= node.nvlinked() &&
         job.training.precision != Dtype::nvfp4;
}

void fill_overlap(Job& job, Filler& of_framework) {
  Strategy& s = job.strategy;
  const Overlap& usual = job.framework.overlap;
  const bool sharded = s.zero == 3 && job.framework.zero3_overlaps;
  // Recipes overlap reductions: who says not is following none of them.
  const bool recipe = s.overlap.grad_reduce != false;
  const bool gathers = recipe || !job.framework.gathers_beside_reductions;
  of_framework.fill(s.overlap.grad_reduce, sharded ? true : usual.grad_reduce, "overlap.grad_reduce", *s.dp * s.cp > 1);
  const std::optional<bool> usual_gather = gathers ? usual.param_gather : std::optional(false);
  of_framework.fill(s.overlap.param_gather, sharded ? std::optional(true) : usual_gather, "overlap.param_gather",
                    *s.dp * s.cp > 1 && s.zero > 0);
  const ScheduleTraits schedule = s.traits();
  Filler of_schedule(job, "part of the schedule");
  if (schedule.training_only()) of_schedule.fill(s.overlap.p2p, true, "overlap.p2p");
  if (s.spreads_vocab()) Filler(job, "part of vocab_parallel: pipeline").fill(s.overlap.p2p, true, "overlap.p2p");
  // A framework that waits for its exchanges overlaps them only where several chunks a stage let it work ahead.
  const bool waits = job.framework.synchronizes_p2p && s.vpp == 1;
  of_framework.fill(s.overlap.p2p, waits ? std::optional(false) : usual.p2p, "overlap.p2p", s.pp > 1);
  of_schedule.fill(s.optimizer_barrier, schedule.has_barrier(), "optimizer_barrier", !schedule.has_barrier());
  if (schedule.always_pairs) of_schedule.fill(s.overlap.expert, true, "overlap.expert", s.ep > 1);
  of_framework.fill(s.overlap.expert, usual.expert, "overlap.expert", s.ep > 1);
  fill_tp_overlap(job, of_framework, recipe);
}

void fill_pipeline_units(Job& job, Filler& of_framework) {
  Strategy& s = job.strategy;
  const bool keeps = s.pp > 1 && job.framework.keeps_pipeline_units, whole = job.framework.accumulates_whole;
  const bool gathered = keeps && s.zero == 3 && !s.reshard_given, late = !s.sync_given;
  if (s.zero < 2 || job.training.serves() || !(keeps || whole) || !(gathered || late)) return;
  if (gathered) s.fsdp.reshard = false;
  if (late) s.fsdp.sync_each_microbatch = false;
  const std::string told = std::string(gathered ? "reshard: false" : "") + (gathered && late ? ", " : "") +
                           (late ? "sync_each_microbatch: false" : "");
  of_framework.tell("fsdp", '{' + told + '}', "default of " + job.framework.name + (whole ? "" : " with pp"));
}

constexpr int kManyExperts = 100;  // Llama 4 Maverick, Qwen3 and gpt-oss have 128

/// Recipes for GPUs with fp8 leave the plain exchange where it leaves a node, for models of many small experts. DeepEP
/// is of February 2025; for older models of few and large experts (Mixtral, Grok-1) they keep the plain one.
void fill_dispatcher(Job& job, Filler& of_framework) {
  Strategy& s = job.strategy;
  const Node& node = job.cluster.node;
  const auto& across_nodes = job.framework.dispatcher_across_nodes;
  if (!job.model.moe || s.ep == 1 || s.moe_dispatcher_given || !across_nodes) return;
  if (std::int64_t{s.ep} * s.etp <= node.gpus || !node.gpu.computes(Dtype::fp8)) return;
  if (model_year(job.model) < 2025 && job.model.moe->experts < kManyExperts) return;
  s.moe_dispatcher = *across_nodes;
  of_framework.tell("moe_dispatcher", std::string(name(s.moe_dispatcher)),
                    "recipes of " + job.framework.name + " for experts over several nodes");
}

/// Where the host is slow, recipes (GB200's and GB300's; GH200 has none) capture the layers of dense models, and of
/// others what is not the experts'; not the units of zero 3, and nothing that the host has a part in: exchanges it
/// waits for, what is offloaded, weights that move. What serves captures its decoding (vLLM, SGLang, TensorRT-LLM by
/// default).
void fill_graphs(Job& job, Filler& of_framework) {
  Strategy& s = job.strategy;
  if (s.cuda_graphs) return;
  const bool waits = !job.training.serves() && job.framework.synchronizes_p2p && s.pp > 1 && s.overlap.p2p != true;
  const bool host = waits || s.launch_blocking || s.offload.any() || !s.traits().flushes;
  if (job.training.mode == Mode::decode && !host) {
    s.cuda_graphs = CudaGraphs::whole;
    return of_framework.tell("cuda_graphs", "true", "engines that serve capture decoding");
  }
  const bool layers = !job.model.is_list() && !job.training.serves() && s.zero < 2;
  const Node& node = job.cluster.node;
  const bool slow = node.host.launch_slowdown > 1 && traits_of(node.gpu.generation).software_of_2025;
  const bool captured = job.framework.graphs_on_slow_hosts && slow && layers && !host;
  s.cuda_graphs = !captured ? CudaGraphs::none : job.model.moe ? CudaGraphs::beside_experts : CudaGraphs::whole;
  if (!captured) return;
  of_framework.tell("cuda_graphs", std::string(name(*s.cuda_graphs)),
                    "recipes of " + job.framework.name + " for slow hosts");
}

/// Transformer Engine's modules, which recipes for GPUs with fp8 are made of, keep the host busier than plain ones.
void fill_host(Job& job) {
  Framework& f = job.framework;
  const bool fp8 = job.cluster.node.gpu.computes(Dtype::fp8);
  if (fp8 && f.module_launch_of_fp8_gpus > base::Seconds()) f.module_launch = f.module_launch_of_fp8_gpus;
}

}  // namespace spec
