// real/executor/actions.h -- what each operator of the Plan computes, by its name. To give an operator its arithmetic,
// add a line to the table of its family in actions/, or a family: a file there and a line in all_actions().
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <string>

#include "real/executor/task.h"

namespace real {

using Action = std::function<void(Task&)>;
using Actions = std::map<std::string, Action, std::less<>>;

void add_linear_actions(Actions&);              // matmuls with their collectives
void add_narrow_actions(Actions&);              // casts of their operands to fp8
void add_adapter_actions(Actions&);             // low-rank adapters beside them
void add_norm_actions(Actions&);                // norms
void add_block_actions(Actions&);               // activations, rotary embedding, residual adds
void add_attention_actions(Actions&);           // the core, on one context-parallel rank
void add_copied_heads_actions(Actions&);        // keys and values of every query head
void add_written_scores_actions(Actions&);      // the core, scores written out
void add_latent_actions(Actions&);              // latent attention, in front of the core
void add_end_actions(Actions&);                 // embedding, loss
void add_vocabulary_actions(Actions&);          // both cut over pipeline stages; behind add_linear_actions()
void add_multi_token_actions(Actions&);         // what modules of multi-token prediction join and project
void add_edge_actions(Actions&);                // between pipeline stages
void add_data_parallel_actions(Actions&);       // gradients reduced, parameters gathered
void add_step_actions(Actions&);                // begin and end of the step
void add_context_parallel_actions(Actions&);    // attention over the ranks that share a sequence
void add_expert_actions(Actions&);              // mixture of experts
void add_activation_offload_actions(Actions&);  // to the host's memory and back
void add_optimizer_offload_actions(Actions&);   // updates on the host
void add_parameter_offload_actions(Actions&);   // parameters that are kept on the host
void add_drive_actions(Actions&);               // what is kept on its drives
void add_framework_copies(Actions&);            // of tensors that lie otherwise in a framework; behind all the others

inline void nothing(Task&) {}  // where there is nothing to compute

Actions all_actions();

}  // namespace real
