// SPDX-License-Identifier: Apache-2.0
#include "cli/interruption.h"

#include <csignal>

namespace cli {
namespace {

std::atomic<bool> interrupted{false};
static_assert(std::atomic<bool>::is_always_lock_free);
extern "C" void interrupt(int) {
  interrupted = true;
  std::signal(SIGINT, SIG_DFL);
}

}  // namespace

Interruption::Interruption() { std::signal(SIGINT, interrupt); }
Interruption::~Interruption() { std::signal(SIGINT, SIG_DFL); }
const std::atomic<bool>* Interruption::asked() const { return &interrupted; }

}  // namespace cli
