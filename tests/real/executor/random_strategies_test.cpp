// tests/real/executor/random_strategies_test.cpp -- of the strategies of random_strategies.h those that the rules allow
// and real mode computes must equal one rank. SPDX-License-Identifier: Apache-2.0
#include "tests/real/executor/random_strategies.h"

#include <tuple>

namespace {

TEST(RandomStrategies, EqualOneRank) {
  // By model, what is trained, dropout, capacity, optimizer, the mean length of documents (0: listed).
  std::map<std::tuple<std::string, int, bool, double, spec::Optimizer, std::int64_t>, tiny::Run> alone;
  int run = 0;
  for (unsigned seed = 1; run < 40; ++seed) {
    ASSERT_LT(seed, 2000u);
    const std::optional<spec::Job> drawn = tiny::drawn_job(seed);
    if (!drawn) continue;
    const spec::Job& job = *drawn;
    SCOPED_TRACE("seed " + std::to_string(seed) + ": tp sp pp vpp cp dp zero shard ep etp " + tiny::told(job));
    const std::optional<spec::Lora>& lora = job.strategy.lora;
    const bool apart = lora && job.framework.separate_linears;  // a pair for each module
    const int trained = lora ? 4 + 2 * lora->qkv + lora->ffn + 8 * apart : 0;
    const std::optional<double>& capacity = job.strategy.moe_capacity_factor;
    const auto [one, fresh] =
        alone.try_emplace({job.model.name, trained, job.training.drops(), capacity.value_or(0), job.training.optimizer,
                           job.training.packing ? job.training.packing->mean : -1});
    if (fresh) {
      spec::Job single = tiny::draft(job.model, {});
      single.strategy.lora = lora;
      single.framework.separate_linears = apart;
      single.strategy.moe_capacity_factor = capacity;
      single.training.dropout = job.training.dropout;
      single.training.packing = job.training.packing;
      single.training.optimizer = job.training.optimizer;
      one->second = tiny::run(toy::resolved(single));
    }
    EXPECT_LT(tiny::difference(one->second, tiny::run(job)), 1e-10);
    ++run;
  }
}

}  // namespace
