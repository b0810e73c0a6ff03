// core/plan/moe_shape.h -- how many tokens and which weights one rank sees in a layer of experts.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "core/plan/context.h"

namespace plan {

/// Sizes of one layer of experts on one rank and for one microbatch, of the rank that has most to do. Token counts are
/// rows of `width` elements.
///   copies    tokens that leave the router: tokens x top_k, no more than there is room for, and all of that room where
///             it is padded, so that its load is known (moe_capacity_factor, moe_pad_to_capacity)
///   received  what arrives for the rank's experts: copies, of the hottest rank moe_imbalance times as many within the
///             room, unless padded
///   rows      the same with what the other members of the expert tensor-parallel group received
struct MoeShape {
  /// REQUIRES: the model has experts.
  explicit MoeShape(const Context&);

  std::int64_t tokens = 0;  // that enter the router
  std::int64_t copies = 0, received = 0, rows = 0;
  std::int64_t capacity = 0;         // rows of each expert that a rank's tokens may take; 0: any
  std::int64_t experts = 1;          // of this rank that have work, as few tokens choose few
  std::int64_t rows_per_expert = 0;  // rows / experts, rounded up
  std::int64_t width = 0;            // of what experts read and write (Model::expert_width)
  std::int64_t ffn = 0, up_width = 0;
  std::int64_t shared_ffn = 0, shared_up_width = 0;        // of the shared experts on one tensor-parallel rank; 0: none
  std::int64_t dispatch_element = 2, combine_element = 2;  // bytes of an element on the wire
  bool counted_by_host = false;  // buffers have the size that the router chose: the host waits for it
};

/// Parameters of one expert on this rank (its matrices cut by etp), and of the shared ones on one tensor-parallel rank.
std::int64_t expert_parameters(const Context&);
std::int64_t shared_expert_parameters(const Context&);

/// Bytes that the forward of a layer of experts keeps for its backward beyond its input.
struct MoeActivations {
  std::int64_t routing = 0;       // router probabilities (fp32), chosen experts, where each copy goes
  std::int64_t inputs = 0;        // of the first grouped matmul: received tokens in the order of the experts
  std::int64_t feed_forward = 0;  // output of the first grouped matmul, input of the second, with eager copies
  std::int64_t shared = 0;        // the same of the shared experts
  std::int64_t latent = 0;        // sums of the experts' results in front of the projection back (Moe::latent)
  std::int64_t returned = 0;      // results of experts that a product by the operation weighs: of the weights' gradient
  std::int64_t total() const { return routing + inputs + feed_forward + shared + latent + returned; }
};
MoeActivations moe_activations(const Context&);

/// Whether a copy for each expert is made before tokens are sent, not where they arrive.
bool copies_first(const Context&);

/// Whether the host leaves the router's counts alone until rows are laid out: where an all-to-all needs them then, or on
/// one rank no exchange at all.
bool counts_behind_rows(const Context&);

/// Whether tokens reach places at experts of a limited room by products with a mask (Framework::multiplies_rows).
bool multiplies_rows(const Context&);

/// Whether a graph compiler has what stands around the grouped matmuls, too.
bool compiles_experts(const Context&);

/// Whether results of experts are multiplied by their weights as fp32 tensors (Framework::weighs_in_fp32).
bool weighs_wide(const Context&);

/// Bytes of the buffers that live only inside a pass through the layer: what the exchange sends and what it receives.
std::int64_t moe_exchange_bytes(const Context&);

/// Of all choices those whose experts have room for them, where all have `room` times an even share together: of all
/// ranks, and of the one with the most, each over an even share. REQUIRES: moe_routing is empty, or one count an
/// expert.
struct KeptChoices {
  double all = 0, fullest = 0;
};
KeptChoices kept_choices(const spec::Strategy&, const spec::Moe&, double room);

/// Rows that all experts have room for together, of `copies` that a rank brings them; each the same whole number.
std::int64_t room_for(const spec::Moe&, double factor, std::int64_t copies);

}  // namespace plan
