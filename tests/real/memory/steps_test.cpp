// tests/real/memory/steps_test.cpp -- what a step takes beside what its Plan says.
// SPDX-License-Identifier: Apache-2.0
#include <numeric>

#include "tests/real/executor/tiny.h"

namespace {

using real::Ledger;

double sum(const Ledger::ByCategory& bytes) {
  return static_cast<double>(std::accumulate(bytes.begin(), bytes.end(), std::int64_t{0}));
}

/// Bytes at the peak over the Plan's, of so many steps.
double over_plan(spec::Job job, int steps) {
  job.framework.adds_embedding_rows = true;  // as the executor does
  const plan::Plan plan = plan::build(job);
  real::Settings settings = tiny::settings();
  settings.keeps_gradients = false;
  const real::Trained trained = real::train_on_cpu(job, plan, tiny::tokens(job), settings, steps);
  return sum(trained.memory.measured) / sum(trained.memory.planned);
}

spec::Model wide() {
  spec::Model m = tiny::llama(4);
  m.hidden = 64;
  m.head_dim = 16;
  m.ffn = 96;
  m.vocab = 256;
  return m;
}

TEST(MemoryOfSteps, IsThePlansBehindTheFirst) {
  spec::Job job = tiny::draft(wide(), {}, 1);
  job.training.sequence = 64;
  for (const auto kind : {spec::Recompute::Kind::none, spec::Recompute::Kind::full}) {
    job.strategy.recompute.kind = kind;
    const spec::Job resolved = toy::resolved(job);
    EXPECT_GT(over_plan(resolved, 1), 1.02);  // a layer's gradients and the logits, until the layer and the pass end
    EXPECT_NEAR(over_plan(resolved, 2), 1, 0.01);
  }
}

}  // namespace
