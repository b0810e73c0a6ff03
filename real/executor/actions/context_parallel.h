// real/executor/actions/context_parallel.h -- the attention core of each way to share a sequence. Operators of one name
// ("attention", "attention gradients added") mean different things under each, so attention.cpp asks the job which.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "real/executor/actions.h"

namespace real {

struct AttentionCore {
  Action forward, backward;       // "attention", "attention gradient"
  Action gradients_added = {};    // "attention gradients added"
  Action keys_gathered = {};      // "keys and values all-gather"
  Action gradients_shifted = {};  // "key and value gradients shift"
};

AttentionCore ring_core();  // and its hops, in add_context_parallel_actions()
AttentionCore ring_at_once_core();
AttentionCore gathered_core();
AttentionCore ulysses_core();

void add_ring_actions(Actions&);
void add_ring_at_once_actions(Actions&);
void add_gathered_actions(Actions&);
void add_ulysses_actions(Actions&);

}  // namespace real
