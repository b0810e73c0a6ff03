// core/plan/mla.h -- multi-head latent attention (DeepSeek-V2, arXiv 2405.04434, section 2.1) between a block's norm
// and its attention core, cut as Megatron's MLASelfAttention is: the projections down to the narrow vectors are whole
// on every tensor-parallel rank (under sequence parallel each for its own tokens), those up to the heads are column
// parallel and gather the narrow vectors. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "core/plan/builder.h"
#include "core/plan/context.h"
#include "core/plan/selective_ops.h"
#include "core/plan/tensor_parallel.h"

namespace plan {

/// Queries, keys and values from a block's normed input and back. Decoding and behind an indexer keys and values stay
/// latent: the matrix that would make keys of them is multiplied into the queries, that of the values into the output
/// (the absorbed form, ibid.) REQUIRES: Model::mla.
class LatentAttention {
 public:
  LatentAttention(const Context& c, SegmentBuilder& out) : c_(c), out_(out), mla_(*c.model.mla) {}
  void forward();
  void backward();
  /// From the narrow vectors to the heads, before a backward that finds these alone (recompute_modules.cpp).
  void up_forward_again();
  /// Queries, keys and values from what selective_ops keeps.
  void forward_again(const KeptMatmuls&);
  /// Behind attention to the latent cache: from the values' latent form to the heads' own.
  void absorbed_output();
  void absorbed_output_gradient();
  /// Behind a kernel that wants padded values, and in front of its backward.
  void cut_output(std::string_view name);

 private:
  void norm(std::int64_t width, std::string_view name, bool backward);
  void heads_forward();
  void absorbed_queries();
  void joined_latents(bool backward);
  void absorbed_queries_gradient();
  void absorbed_weight_gradient(Matmul, std::string_view name);
  void heads_backward();

  const Context& c_;
  SegmentBuilder& out_;
  const spec::Mla& mla_;
};

/// The projections in front of the attention core, tokens included.
std::vector<Placed> latent_linears(const Context&);
/// Weights and biases of the attention of one layer on one tensor-parallel rank, the output projection included, and
/// the two inner norms.
std::int64_t latent_parameters(const Context&);
/// Those of them that every tensor-parallel rank holds whole and whose gradients differ between ranks, because under
/// sequence parallel each rank sees its own tokens: they are summed over the ranks once a step. 0 without.
std::int64_t latent_shared_parameters(const Context&);
/// What the forward keeps in front of the attention core, in bytes: narrow vectors before and behind their norms,
/// queries, keys and values.
std::int64_t latent_activations(const Context&);
/// What selective_ops keeps instead: results of matmuls, in bytes.
std::int64_t latent_kept(const Context&, const KeptMatmuls&);
/// flash1 and flash2 want values as wide as queries: they are padded, and the output is cut.
bool pads_values(const Context&);

}  // namespace plan
