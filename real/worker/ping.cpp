// real/worker/ping.cpp -- forerun-worker --ping: do the ranks find one another? Needs no GPU.
// SPDX-License-Identifier: Apache-2.0
#include "real/launch/ping.h"

#include "real/worker/command.h"

namespace worker {
namespace {

constexpr std::size_t kBytes = std::size_t{1} << 20;

std::string run(real::World& world, const std::vector<std::string>&) { return real::ping(world, kBytes) + "\n"; }

}  // namespace

const Command ping{"--ping", "all ranks meet and pass messages; needs no GPU", run};

}  // namespace worker
