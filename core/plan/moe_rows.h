// core/plan/moe_rows.h -- rows of tokens on their way through a layer of experts: copied for each chosen expert, put in
// the experts' order, weighed and summed up again; forward and backward. By fused kernels, by the operation, or by
// products with a mask (Framework::multiplies_rows).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

#include "core/plan/builder.h"
#include "core/plan/context.h"
#include "core/plan/moe_shape.h"

namespace plan {

class MoeRows {
 public:
  MoeRows(const Context& c, SegmentBuilder& out, const MoeShape& shape) : c_(c), out_(out), shape_(shape) {}

  /// A copy of each token for each of its experts: before tokens are sent, or of those that have arrived.
  void permute_copies();
  void permute_received();
  /// `rows` that arrive are weighed and summed up to `tokens`; the gradients of that, and of the rows' copies.
  void unpermute(std::int64_t rows, std::int64_t tokens, std::string_view name);
  void unpermute_gradient(std::int64_t read_rows, std::int64_t rows, std::string_view name);
  /// What the weights' gradient reads, in fp32, once more. REQUIRES: weighs_wide.
  void widen_again();
  void sum_up(std::int64_t rows, std::int64_t tokens, std::string_view name);

  /// What arrives is put in the order of the experts, each one's rows at a multiple (Framework::pads_experts), and
  /// back.
  void pad();
  void unpad();
  void unpad_gradient();
  void pad_gradient();

 private:
  bool sorts() const;  // what arrives is not in the order of the experts
  bool pads() const;   // Framework::pads_experts
  void move(std::int64_t read_rows, std::int64_t written_rows, std::string_view name, int kernels = 1, int beside = 0);
  void sort_and_add(std::int64_t rows, std::string_view name);
  /// Rows read and written by so many kernels.
  struct Moved {
    std::int64_t read = 0, written = 0;
    int kernels = 0;
    Moved& operator+=(const Moved& other) {
      read += other.read;
      written += other.written;
      kernels += other.kernels;
      return *this;
    }
  };
  Moved summed(std::int64_t rows, std::int64_t tokens) const;
  Moved weighed(std::int64_t rows) const;
  Moved weighed_gradient(std::int64_t rows) const;
  bool sums_by_index() const;
  bool weighs_compiled() const;
  int beside_exchange() const;
  std::int64_t rows_permuted() const;
  /// Of each sequence: a mask of tokens by places at the experts, times tokens or what the experts made of them.
  void multiply_by_mask(std::int64_t m, std::int64_t n, std::int64_t k, std::string_view name);
  std::int64_t tokens_of_sequence() const;
  std::int64_t places() const;

  const Context& c_;
  SegmentBuilder& out_;
  MoeShape shape_;
};

}  // namespace plan
