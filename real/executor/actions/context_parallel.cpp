// SPDX-License-Identifier: Apache-2.0
#include "real/executor/actions/context_parallel.h"

namespace real {

void add_context_parallel_actions(Actions& actions) {
  add_ring_actions(actions);
  add_ring_at_once_actions(actions);
  add_gathered_actions(actions);
  add_ulysses_actions(actions);
}

}  // namespace real
