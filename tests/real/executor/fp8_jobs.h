// tests/real/executor/fp8_jobs.h -- tiny jobs with matmuls below 16 bits, and how far their steps are from those of the
// plain model. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "tests/real/executor/fp8_model.h"
#include "tests/real/executor/tiny.h"

namespace fp8_jobs {

using reference_model::Parameters;

template <class Change>
spec::Job job_of(const char* recipe, const toy::Cut& cut, Change change, std::int64_t global_batch = 4) {
  spec::Job draft = tiny::draft(tiny::llama(), cut, global_batch);
  draft.training.precision = spec::Dtype::fp8;
  draft.training.fp8_recipe = spec::named<spec::Fp8Recipe>(recipe);
  draft.framework.keeps_casts = true;
  for (const auto narrow : {spec::Dtype::fp8, spec::Dtype::mxfp8, spec::Dtype::nvfp4}) {
    draft.cluster.node.gpu.peak[static_cast<int>(narrow)] = base::TFLOPps(2000);
  }
  change(draft);
  return toy::resolved(draft);
}

inline spec::Job job_of(const char* recipe, const toy::Cut& cut = {}) {
  return job_of(recipe, cut, [](spec::Job&) {});
}

/// The sequences of a step, from 0.
inline std::vector<std::vector<std::int32_t>> sequences(const spec::Job& job, std::int64_t step = 0) {
  std::vector<std::vector<std::int32_t>> out;
  for (std::int64_t i = 0; i < job.training.global_batch; ++i) {
    out.push_back(tiny::tokens(job).sequence(step * job.training.global_batch + i, job.training.sequence));
  }
  return out;
}

/// What the whole model's parameters are behind `steps` steps. REQUIRES: zero 0.
inline Parameters parameters_behind(const spec::Job& job, int steps) {
  Parameters out;
  const auto visit = [&](const real::Executor& executor) {
    for (const real::Parameter& p : executor.state().parameters.all()) {
      tiny::place(p,
                  steps == 0 ? real::starting_values(p, tiny::settings().seed)
                             : executor.state().backend.download(p.weight.tensor),
                  out[{p.layer, p.name}]);
    }
  };
  real::train_on_cpu(job, plan::build(job), tiny::tokens(job), tiny::settings(), std::max(steps, 1), {}, visit);
  return out;
}

inline tiny::Run as_run(const fp8_model::Step& step) { return {{step.loss}, {NAN}, step.gradients, 0}; }

/// Of the last of `steps` steps; of frozen parameters no gradient is made.
inline double apart(const spec::Job& job, const fp8_model::Step& expected, int steps = 1) {
  tiny::Run run = tiny::run(job, steps), plain = as_run(expected);
  run.losses = {run.losses.back()};
  run.norms = {NAN};
  std::erase_if(plain.gradients, [&](const auto& one) { return !run.gradients.contains(one.first); });
  return tiny::difference(plain, run);
}

}  // namespace fp8_jobs
