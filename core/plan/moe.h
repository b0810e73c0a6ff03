// core/plan/moe.h -- the feed-forward of a layer of experts: router, dispatch, grouped matmuls, combine; forward and
// backward. Experts are folded over the ranks of a stage: etp fastest, then ep (Liu et al., arXiv 2504.14960).
//
//   alltoall   tokens are copied top_k times in the order of the experts, exchanged over ep, sorted by local expert
//   allgather  every rank of ep gathers all tokens and picks those of its experts; a reduce-scatter brings sums back
//   deepep     a token crosses the fabric once for each NVLink domain that it visits and is handed on over NVLink, once
//              for each rank there (DeepSeek-AI, arXiv 2412.19437, section 3.2.2); it is copied only behind the
//              exchange
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string_view>

#include "core/plan/builder.h"
#include "core/plan/context.h"
#include "core/plan/moe_rows.h"
#include "core/plan/moe_shape.h"
#include "core/plan/selective_ops.h"
#include "core/plan/tensor_parallel.h"

namespace plan {

/// A rank's experts, cut over Axis::etp, and the shared ones, over Axis::tp.
Linear expert_up(const Context&, const MoeShape&);
Linear expert_down(const Context&, const MoeShape&);
/// Moe::latent: a token to the experts' width, and their sum back; every rank holds them whole.
Linear latent_down(const Context&, const MoeShape&);
Linear latent_up(const Context&, const MoeShape&);
Linear shared_expert_up(const Context&, const MoeShape&);
Linear shared_expert_down(const Context&, const MoeShape&);

/// Bytes that selective_ops keeps of a layer of experts: of what a layer without recomputation holds too (tokens that
/// were received count as the same in the order of the experts), and what no backward reads.
struct KeptOfExperts {
  std::int64_t read = 0, unread = 0;
};
KeptOfExperts kept_of_experts(const Context&, const KeptMatmuls&);
/// Whether selective_ops runs experts to their end again: for the gradient of a product by the operation that weighs
/// their results, unless an exchange that brought these is kept; or though nothing reads what they make, where shared
/// ones come behind them (torchtitan's models/moe, 2025) and eager checkpoints go on to the last tensor that a backward
/// reads.
bool runs_down_again(const Context&);

class MoeLayer {
 public:
  /// REQUIRES: the model has experts; sequence parallel where tp > 1.
  MoeLayer(const Context& c, SegmentBuilder& out)
      : c_(c), out_(out), shape_(c), rows_(c, out, shape_), linear_(c, out) {}

  void forward();
  void backward();
  void shared_forward();  // the shared experts alone
  /// From what selective_ops keeps up to the inputs of the last matmuls.
  void forward_again(const KeptMatmuls&);

 private:
  void router_forward(bool again = false);
  void shared_forward_again(const KeptMatmuls&);
  void router_backward();
  void add_input_gradients();
  void shared_backward();
  void gate_shared(bool backward);  // Moe::shared_gate
  bool copies_first() const { return plan::copies_first(c_); }
  void inner_forward();  // from the rows that have arrived up to the inputs of the last matmuls
  void outer_forward();  // these, and their rows in the order in which they arrived
  void send_to_experts(std::string_view name, std::int64_t element);
  void send_back(std::string_view name, std::int64_t element);
  void exchange(CollectiveKind, Axis, Stream, std::int64_t rows, std::int64_t element, std::string_view name);
  void read_counts();
  void exchange_counts();
  void exchange_over_etp(CollectiveKind, std::string_view name);
  bool fuses() const;  // activation and casts are part of the experts' matmuls
  Linear up() const;
  Linear down() const;
  void activate();
  void activate_backward();
  void add_shared();
  bool latent() const { return c_.model.moe->latent > 0; }
  void add_biases(std::string_view name, std::int64_t width, bool last);

  const Context& c_;
  SegmentBuilder& out_;
  MoeShape shape_;
  MoeRows rows_;
  TensorParallel linear_;
  std::optional<Stream> behind_;  // the exchange before, in this pass: what it brought is sent on
};

}  // namespace plan
