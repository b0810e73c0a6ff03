// core/plan/context_parallel.h -- the attention core when the tokens of a sequence are cut over context-parallel ranks.
//
// ring        K and V travel from rank to rank while the ones that are here are attended to; partial outputs are joined
//             by their log-sum-exp (Liu et al., arXiv 2310.01889). In the backward their gradients travel with them.
// all_gather  K and V are gathered first, their gradients reduce-scattered (Llama 3, arXiv 2407.21783, section 3.3.2).
// ulysses     all-to-alls trade tokens for heads and back (Jacobs et al., arXiv 2309.14509).
// Packed documents: a ring cuts each of them over all ranks (Transformer Engine's thd layout), all_gather cuts the
// packed sequence and masks. Leaves out: the padding of documents outside of attention.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "core/plan/builder.h"
#include "core/plan/context.h"
#include "core/plan/ring_steps.h"

namespace plan {

/// Works of one rank: c.tokens tokens, c.heads heads. REQUIRES: cp > 1 and a fused attention kernel.
class ContextParallel {
 public:
  ContextParallel(const Context& c, SegmentBuilder& out, bool windowed)
      : c_(c),
        out_(out),
        mask_{c.model.causal, windowed ? c.model.window : 0},
        piece_(windowed ? c.chunk : c.document) {}

  void forward();
  void backward();

 private:
  void ring_forward();
  void ring_backward();
  void ring_at_once_forward();  // ring_at_once.cpp
  void ring_at_once_backward();
  void gather_in_order(std::int64_t gathered);  // elements: K and V of all ranks, in the order of the sequence
  void gathered_forward();
  void gathered_backward();
  void ulysses_forward();
  void ulysses_backward();

  void attention(std::int64_t queries, std::int64_t keys, bool causal, std::int64_t window, bool backward,
                 std::int64_t document = 0);
  void attention(const RingStep&, bool own, bool backward);
  void chunks_of_gathered(bool backward);
  std::vector<RingStep> steps() const;
  void whole_sequence(bool backward);
  void communicate(CollectiveKind, std::int64_t elements, std::string_view name);
  void hop(std::int64_t elements, int number, std::string_view name);
  void trade(std::int64_t elements, std::string_view name, bool to_heads);
  /// Queries, keys and values in fp8, as so many elements of 16 bits.
  std::int64_t operand(std::int64_t elements) const;
  void pass(std::int64_t elements, double read, double written, std::string_view name);

  const Context& c_;
  SegmentBuilder& out_;
  Mask mask_;
  std::int64_t piece_;  // tokens of a chunk or a document, which attends to itself alone; 0: the sequence
};

/// Elements of the K and V of a rank's tokens, as attention sees them.
std::int64_t keys_and_values(const Context&);

/// Numbers of a token that a rank trades under ulysses, all ranks' heads together: K and V copied so that each
/// context-parallel rank gets one, and every rank's share as large as the largest (spec::ulysses_share).
struct TradedWidths {
  std::int64_t queries, keys, values, outputs;
};
TradedWidths traded_widths(const Context&);

/// Bytes a layer keeps beyond what attention on one rank keeps: under ulysses the kernel's output and the projection's
/// input are two tensors, and copied K and V heads are kept as they are.
std::int64_t kept_for_context_parallel(const Context&);

}  // namespace plan
