// sim/memory/changes.h -- what may be changed of a job so that it takes less memory.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "core/spec/job.h"

namespace sim {

/// One change of a job that is not resolved. Thrifty ones spend time for memory and may be combined; the others cut the
/// job another way or say less than one of the thrifty.
struct Change {
  std::string flags;
  bool thrifty;
  std::function<void(spec::Job&)> apply;
  std::string family = {};  // of another cut over the ranks; once one of a family fits, the others only cut further
};

/// All that the resolved job does not do yet, those first that usually cost least time.
std::vector<Change> changes_of(const spec::Job&);

/// Zero 3, of which every parameter, gradient and state is a share on each rank; whether there is anything to share.
void fully_shard(spec::Job&);
bool can_shard(const spec::Strategy&);

/// Gradients are reduced behind each microbatch, under zero 3.
inline constexpr char kSyncEach[] = "--set strategy.fsdp.sync_each_microbatch=true";
void sync_each(spec::Job&);

/// "--zero 3".
std::string flag(const char* name, long long value);

}  // namespace sim
