// SPDX-License-Identifier: Apache-2.0
#include "real/measure/supported.h"

#include <fmt/format.h>

#include "real/executor/executor.h"
#include "real/measure/capturable.h"

namespace real {
namespace {

constexpr int kMostHeadDim = 256;  // of the plain attention kernel, and of cuDNN's
constexpr int kMostChoices = 32;   // experts of a token, of the router's kernel

}  // namespace

std::vector<base::Fault> unsupported_on_gpu(const spec::Job& job, const plan::Plan& plan, int ranks) {
  std::vector<base::Fault> faults = unsupported(job, plan);
  const std::vector<base::Fault> captures = uncapturable(job, plan);
  faults.insert(faults.end(), captures.begin(), captures.end());
  const auto refuse = [&](bool applies, const char* field, std::string what, std::string mend) {
    if (applies) faults.push_back({field, std::move(what), std::move(mend)});
  };
  const spec::Dtype precision = job.training.precision;
  refuse(precision == spec::Dtype::fp32 || precision == spec::Dtype::tf32 || precision == spec::Dtype::fp16,
         "training.precision", fmt::format("{} is not computed on GPUs by real mode yet", spec::name(precision)),
         "write precision: bf16");
  const std::optional<spec::Fp8Recipe> recipe = job.training.fp8_recipe;
  refuse(precision == spec::Dtype::fp8 &&
             (recipe == spec::Fp8Recipe::rowwise || recipe == spec::Fp8Recipe::blockwise) &&
             !traits_of(job.cluster.node.gpu.generation).row_and_block_scales,
         "training.fp8_recipe",
         fmt::format("matmuls with scales for rows or blocks of 128 are cuBLASLt's on Hopper alone, not on {}",
                     job.cluster.node.gpu.name),
         "write fp8_recipe: tensorwise or delayed");
  refuse(job.model.head_dim > kMostHeadDim, "model.head_dim",
         fmt::format("heads of {} are more than the attention kernels take", job.model.head_dim),
         fmt::format("choose a model with heads of at most {}", kMostHeadDim));
  refuse(job.model.moe && job.model.moe->top_k > kMostChoices, "model.moe.top_k",
         fmt::format("{} experts for each token are more than the router's kernel takes",
                     job.model.moe ? job.model.moe->top_k : 0),
         fmt::format("choose a model with at most {}", kMostChoices));
  refuse(job.model.moe && job.strategy.ep > 1 && job.strategy.moe_dispatcher == spec::MoeDispatcher::deepep,
         "strategy.moe_dispatcher", "DeepEP's library is not here, and plain exchanges would take another time",
         "write moe_dispatcher: alltoall or allgather");
  const int needed = plan.axes.ranks * plan.axes.stages;
  refuse(ranks != needed, "--gpus", fmt::format("the job is cut for {} GPUs, and {} ranks are started", needed, ranks),
         fmt::format("give --gpus {}, or cut the job for {}", needed, ranks));
  return faults;
}

}  // namespace real
