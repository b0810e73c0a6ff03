// core/spec/sharding_rules.cpp -- shards of states, parameters and gradients (declared in rules.h).
// SPDX-License-Identifier: Apache-2.0
#include "core/spec/rules.h"

namespace spec {
namespace {

class Sharding : Rules {
 public:
  using Rules::Rules;
  std::vector<base::Fault> run() {
    sharding();
    return std::move(faults_);
  }

 private:
  /// Without gathers there is but one key of fsdp to choose.
  bool only_when_to_reduce() const {
    const Fsdp usual;
    return s_.sync_given && !s_.reshard_given && s_.fsdp.unit == usual.unit && s_.fsdp.prefetch == usual.prefetch &&
           s_.fsdp.limit_all_gathers == usual.limit_all_gathers;
  }
  void sharding() {
    const std::int64_t replicas = times(s_.cp, data());
    if (s_.shard > 0 && s_.zero == 0) {
      fault("strategy.shard", "nothing is sharded with zero 0", "write zero: 1, 2 or 3, or leave shard out");
    } else if (s_.shard == 1 || (s_.shard > 1 && replicas > 0 && replicas % s_.shard != 0)) {
      fault("strategy.shard",
            "groups of " + text(s_.shard) + " do not cut " + text(replicas) + " data-parallel ranks into shards",
            "choose 2 or more that divide " + text(replicas) + ", or leave shard out");
    }
    if (const int most = job_.framework.pipeline_zero; s_.pp > 1 && s_.zero > most) {
      fault(
          "strategy.zero",
          "pipelines of " + job_.framework.name + " take " + (most > 0 ? "at most zero " + text(most) : "zero 0 alone"),
          "write zero: " + text(most) + ", or pp: 1");
    }
    const bool known = s_.zero == 3 || (s_.zero == 2 && only_when_to_reduce());
    if (s_.fsdp_given && !known) {
      fault("strategy.fsdp", "has no effect with zero " + text(s_.zero),
            s_.zero == 2 ? "write zero: 3, or sync_each_microbatch alone" : "write zero: 3, or leave fsdp out");
    }
  }
};

}  // namespace

std::vector<base::Fault> sharding_faults(const Job& job) { return Sharding(job).run(); }

}  // namespace spec
