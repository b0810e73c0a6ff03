// core/plan/states.h -- bytes of parameters, gradients and optimizer states that a rank holds through the whole step.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "core/plan/context.h"
#include "core/plan/plan.h"
#include "core/plan/shares.h"

namespace plan {

/// Whether zero 3's shards are the fp32 master weights themselves (PyTorch), which then are no optimizer state.
bool shards_masters(const Context&);

/// Whether the weights that a rank keeps are the fp32 masters: such shards, or under torch.autocast whole ones.
inline bool weights_are_masters(const Context& c) { return c.autocast || shards_masters(c); }

/// Bytes of one parameter where a rank keeps it: the 16-bit weight, or the fp32 master where that is the weight.
std::int64_t weight_element(const Context&);

/// Bytes of one parameter's weight besides its optimizer state, of which a master copy is part.
std::int64_t weight_beside_state(const Context&);

/// Bytes of one parameter's optimizer state besides the weight that a rank keeps.
std::int64_t state_beside_weight(const Context&);

/// Bytes of one parameter's gradient where the optimizer reads it: as it was reduced, or in the dtype of PyTorch's
/// shards (fp32 where they are the masters), to which it is cast whatever dtype it was reduced in.
std::int64_t owned_gradient_element(const Context&);

/// Whether a 16-bit weight gradient goes once it was added to the main one, or cast to it (torch.autocast).
inline bool frees_gradients(const Context& c) { return c.job.framework.frees_added_gradients || c.autocast; }

/// Whether fused accumulation of weight gradients leaves autograd a placeholder for them (Framework).
bool has_placeholders(const Context&);

/// Fills role.resident for `held` parameters. With P parameters, n ranks sharing a copy, bf16 storage, Adam and fp32
/// gradients: zero 0 holds 2 P + 4 P + 12 P bytes, zero 1 2 P + 4 P + 12 P/n, zero 2 2 P + 4 P/n + 12 P/n and zero 3 18
/// P/n (2 + 4 + 12; 4 + 4 + 8 = 16 where the shards are the masters). Under torch.autocast all ranks read fp32 weights
/// in each forward: zero 0 holds 4 P + 4 P + 8 P, zero 1 4 P + 4 P + 8 P/n. What is gathered, cast or not yet scattered
/// comes on top as it comes and goes. Frozen weights are added (a rank's share of them under zero 3), and copies in a
/// narrow format of `chunks`; under zero 3 such copies are of a gathered unit, hence not held. Source: Rajbhandari et
/// al., "ZeRO", SC'20, section 5.
void hold_states(const Context&, const Held& held, const std::vector<Chunk>& chunks, Role& role);

/// Whether under zero 2 and 3 whole gradients stay for the sum, scattered behind the last microbatch alone.
bool sums_whole(const Context&);

/// Bytes by which whole gradients exceed the shards that hold_states() counts, where they stay for the sum: there
/// beside all passes, but not beside the optimizer. A shard takes the place of what it is made of, so both are never
/// held at once. 0 where each microbatch's are scattered, and in a rolling pipeline, whose next step begins beside the
/// optimizer.
std::int64_t unscattered_sums(const Context&, const Held&);

/// Whether a step makes gradients anew as its backward goes, since nothing keeps the last step's: those of a lone
/// microbatch on one stage, where the framework frees them (Framework::fresh_gradients).
bool makes_gradients_anew(const Context&);
/// Bytes of those of `held`; 0 where the last step's stay.
std::int64_t fresh_gradients(const Context&, const Held& held);
/// Whether they are in a pool that nothing else may use: PyTorch makes shards on the stream of their reduction.
inline bool fresh_apart(const Context& c) {
  return makes_gradients_anew(c) && c.scatters_gradients && c.job.framework.stream_pools;
}

}  // namespace plan
