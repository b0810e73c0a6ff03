// tests/gpu/training/random_test.cpp -- strategies that nobody thought of, for 8 ranks, on GPUs: random_strategies.h.
// $FORERUN_DRAWS is how many of them train, $FORERUN_FIRST_DRAW where they begin. SPDX-License-Identifier: Apache-2.0
#include "tests/real/executor/random_strategies.h"

#include <array>
#include <cstdlib>

#include "real/measure/supported.h"
#include "tests/gpu/training/near.h"

namespace {

unsigned told_or(const char* name, unsigned otherwise) {
  const char* text = std::getenv(name);
  return text ? static_cast<unsigned>(std::strtoul(text, nullptr, 10)) : otherwise;
}

/// Its job 64 wide, if a GPU computes all of it; every third in fp8.
std::optional<spec::Job> job_of(unsigned seed) {
  spec::Job job = gpus::widened(tiny::StrategyDraw(seed).job());
  if (seed % 3 == 0 && gpus::capability() >= gpus::kFp8Since) {
    job.training.precision = spec::Dtype::fp8;
    using enum spec::Fp8Recipe;
    job.training.fp8_recipe = std::array{tensorwise, delayed, rowwise,
                                         blockwise}[seed / 3 % (gpus::capability() == gpus::kScalesOfRows ? 4 : 2)];
    job.training.sequence = 64;  // sides of a multiple of 16 on every rank
    job.model.ffn = 192;
    if (job.model.moe) job.model.moe->shared_ffn = 64;
    if (job.model.mla) job.model.mla = {job.model.mla->q_lora_rank == 0 ? 0 : 32, 32, 16, 16, 16};
  }
  if (!spec::check(job).empty()) return std::nullopt;
  spec::Job out = spec::resolve(job);
  const plan::Plan plan = plan::build(out);
  if (!real::unsupported_on_gpu(out, plan, plan.axes.ranks * plan.axes.stages).empty()) return std::nullopt;
  return out;
}

// In bf16 a token may go to another expert, from where on all is otherwise: the loss hardly shows it, gradients do. In
// a latent model a token whose compressed queries, 12 numbers, happen to be small is normed up: noise of bf16's size on
// the weights alone moves the norm of all gradients by 20 %, computed in double.
gpus::Close close_of(const spec::Job& job) {
  if (job.model.moe || job.training.precision == spec::Dtype::fp8) return {0.02, 0.15, 1.5};
  if (job.model.mla) return {0.005, 0.3, 1.5};
  return {0.005, 0.02, 0.12};
}

TEST(RandomStrategies, TrainOnGpusAsOnTheCpu) {
  const unsigned draws = told_or("FORERUN_DRAWS", 4);
  unsigned run = 0;
  for (unsigned seed = told_or("FORERUN_FIRST_DRAW", 1); run < draws; ++seed) {
    const std::optional<spec::Job> job = job_of(seed);
    if (!job) continue;
    SCOPED_TRACE("seed " + std::to_string(seed) + ": tp sp pp vpp cp dp zero shard ep etp " + tiny::told(*job));
    const bool on_host = job->strategy.offload.updates_on_host();
    try {
      gpus::expect_near(*job, "seed " + std::to_string(seed), {close_of(*job), !on_host && !job->model.moe, false},
                        seed);
    } catch (const std::exception& error) {
      ADD_FAILURE() << error.what();
    }
    ++run;
  }
}

}  // namespace
