// real/worker/room.cpp -- forerun-worker --room RANKS: whether so many ranks may be started on this machine. One
// process asks before the others exist, for hundreds that learn of a missing GPU one by one bring a machine to its
// knees. SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "core/base/fault.h"
#include "core/base/number.h"
#include "real/cuda/device.h"
#include "real/worker/command.h"

namespace worker {
namespace {

constexpr int kRanksACard = 8;  // that share it, to show that all works together

std::string run(real::World&, const std::vector<std::string>& words) {
  const int ranks = words.size() == 1 ? base::number_in<int>(words[0]).value_or(0) : 0;
  if (ranks < 1) {
    throw base::InputError({{"--room", "wants a number of ranks", "`forerun` gives it", {}}});
  }
  const int devices = real::device_count();
  if (ranks <= devices * kRanksACard) return "";
  throw real::NoGpu(fmt::format(
      "error: {} ranks want a GPU each, and this machine has {}; more than {} ranks do not share one\n  mend: start "
      "the "
      "workers on all machines at once (torchrun, mpirun or srun: docs/real-mode.md), or cut the job for fewer: --set "
      "cluster.nodes=1",
      ranks, devices, kRanksACard));
}

}  // namespace

const Command room{"--room", "says whether this machine has GPUs for so many ranks", run};

}  // namespace worker
