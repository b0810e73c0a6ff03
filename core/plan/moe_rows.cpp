// SPDX-License-Identifier: Apache-2.0
#include "core/plan/moe_rows.h"

namespace plan {

/// Gathers or scatters rows of the experts' width.
void MoeRows::move(std::int64_t read_rows, std::int64_t written_rows, std::string_view name, int kernels, int beside) {
  const std::int64_t row = shape_.width * c_.element;
  out_.compute(MemoryBound{MemoryBound::Kind::copy, read_rows * row, written_rows * row, kernels}, name,
               kernels + beside);
}

/// Launches' worth of the host's time around the plain exchange, once in each pass: where its copies are made or their
/// sum's gradient is.
int MoeRows::beside_exchange() const { return copies_first(c_) ? c_.job.framework.exchange_launches : 0; }

/// One kernel reads a token once and writes it to each of its places (Transformer Engine's permutation.py); a selection
/// of rows reads it for each.
std::int64_t MoeRows::rows_permuted() const { return c_.fused_permute ? shape_.tokens : shape_.copies; }

/// By the operation. A copy moves each number at the copy curve's pace; PyTorch's products of rows with a number each,
/// and its additions of rows to others by atomics, go number by number at half of that. An H100 takes for a number of a
/// row, in bytes at the data sheet's bandwidth (tests/torch/probe.py): index_select and gather 3.6 to 4.9, the
/// product 8.6, its gradients 19, scatter_add 14 to 17. index_add, 28 to 33, is not priced.
constexpr std::int64_t kNumberByNumber = 2;

void MoeRows::permute_copies() {
  if (multiplies_rows(c_)) return multiply_by_mask(places(), shape_.width, tokens_of_sequence(), "permute");
  move(rows_permuted(), shape_.copies, "permute", 1, beside_exchange());
}

void MoeRows::permute_received() { move(shape_.received, shape_.received, "permute"); }

std::int64_t MoeRows::tokens_of_sequence() const { return shape_.tokens / c_.batch; }
std::int64_t MoeRows::places() const { return shape_.copies / c_.batch; }

void MoeRows::multiply_by_mask(std::int64_t m, std::int64_t n, std::int64_t k, std::string_view name) {
  out_.compute(Matmul{m, n, k, c_.batch, c_.operand, c_.storage, false}, name);
}

/// Adding rows to others where a token has several: by sorting the indices and adding row by row, which is also the
/// gradient of a choice of rows by index, as if it moved kSortedSum rows for each: 1.85 ms for 196,608 rows of 2,048 in
/// bf16 on a B200 (pytorch/ao pull request 4623), where a copy of all and the choice take 0.59, four rows at the copy
/// curve's pace. By atomics: what lies there is read and written, number by number.
constexpr std::int64_t kSortedSum = 13;

void MoeRows::sort_and_add(std::int64_t rows, std::string_view name) {
  const std::int64_t read = kSortedSum / 2 * rows;
  move(read, kSortedSum * rows - read, name, 3);
}

MoeRows::Moved MoeRows::summed(std::int64_t rows, std::int64_t tokens) const {
  if (sums_by_index()) return {kSortedSum / 2 * rows, (kSortedSum - kSortedSum / 2) * rows, 3};
  return {kNumberByNumber * 2 * rows, kNumberByNumber * rows + tokens, 2};  // zeros before
}

/// Rows times a number each. In fp32 they are cast there and back, and a number takes what its bytes take. Forward and
/// backward of such a product and a sorted sum, 262,144 rows of 3,584 in bf16 to 16,384 tokens, take a GB300 13.5 ms,
/// and 4.2 where a compiler makes the casts and products one kernel (torchtitan's LocalTokenDispatcher.combine under
/// PyTorch 2.15; a reproduction of 26 September 2026 for that compiler's authors). Priced: 13.7 and 6.4.
MoeRows::Moved MoeRows::weighed(std::int64_t rows) const {
  if (weighs_compiled()) return {rows, rows, 1};
  if (!weighs_wide(c_)) return {kNumberByNumber * rows, kNumberByNumber * rows, 1};
  const std::int64_t wide = 4 * rows / c_.element;
  return {rows + 2 * wide, 2 * wide + rows, 3};
}

/// The gradients of rows and of their numbers: two products and the latter's sum.
MoeRows::Moved MoeRows::weighed_gradient(std::int64_t rows) const {
  if (weighs_compiled()) return {2 * rows, rows, 1};
  if (!weighs_wide(c_)) return {kNumberByNumber * 2 * rows + rows, kNumberByNumber * rows + rows, 3};
  const std::int64_t wide = 4 * rows / c_.element;
  return {rows + 5 * wide, 3 * wide + rows, 5};
}

bool MoeRows::sums_by_index() const { return c_.job.framework.rows_by_index && copies_first(c_); }
bool MoeRows::weighs_compiled() const { return copies_first(c_) && compiles_experts(c_); }

void MoeRows::unpermute(std::int64_t rows, std::int64_t tokens, std::string_view name) {
  if (multiplies_rows(c_)) return multiply_by_mask(tokens_of_sequence(), shape_.width, places(), name);
  if (c_.fused_permute) return move(rows, tokens, name);
  Moved all = weighed(rows);
  all += summed(rows, tokens);
  move(all.read, all.written, name, all.kernels);
}

void MoeRows::unpermute_gradient(std::int64_t read_rows, std::int64_t rows, std::string_view name) {
  if (multiplies_rows(c_)) {
    multiply_by_mask(places(), shape_.width, tokens_of_sequence(), name);
    return multiply_by_mask(tokens_of_sequence(), places(), shape_.width, "routing weights gradient");
  }
  if (c_.fused_permute) return move(read_rows, rows, name, 1, beside_exchange());
  Moved all{read_rows, rows, 1};  // copied
  all += weighed_gradient(rows);
  move(all.read, all.written, name, all.kernels, beside_exchange());
}

void MoeRows::widen_again() {
  const std::int64_t wide = 4 / c_.element * shape_.copies;
  move(shape_.copies, wide, "results widened");
}

void MoeRows::sum_up(std::int64_t rows, std::int64_t tokens, std::string_view name) {
  if (multiplies_rows(c_)) return multiply_by_mask(tokens_of_sequence(), shape_.width, places(), name);
  if (c_.fused_permute) return move(rows, tokens, name);
  if (c_.job.framework.rows_by_index) return sort_and_add(rows, name);
  move(kNumberByNumber * 2 * rows, kNumberByNumber * rows + tokens, name, 2);
}

bool MoeRows::sorts() const {
  return copies_first(c_) && (c_.strategy.ep > 1 || c_.strategy.etp > 1) && shape_.experts > 1;
}

bool MoeRows::pads() const { return copies_first(c_) && c_.job.framework.pads_experts; }

/// A row of zeros is joined to what arrives (a copy of all), and rows are taken by index: those of padding are that
/// row. Where they are sorted the same index does both. The way back is one index.
void MoeRows::pad() {
  if (sorts()) {
    if (pads()) move(shape_.rows, shape_.rows, "pad rows");
    return move(shape_.rows, shape_.rows, "sort by expert");
  }
  if (pads()) move(2 * shape_.rows, 2 * shape_.rows, "pad rows", 2);
}

void MoeRows::unpad() {
  if (sorts()) return move(shape_.rows, shape_.rows, "unsort by expert");
  if (pads()) move(shape_.rows, shape_.rows, "unpad rows");
}

/// The row of zeros is given back: zeros with one more row, into which all are copied.
void MoeRows::unpad_gradient() {
  if (sorts()) {
    if (pads()) move(shape_.rows, 2 * shape_.rows, "unpad rows gradient", 2);
    return move(shape_.rows, shape_.rows, "unsort by expert gradient");
  }
  if (pads()) move(2 * shape_.rows, 3 * shape_.rows, "unpad rows gradient", 3);
}

void MoeRows::pad_gradient() {
  if (sorts()) {
    const bool by_index = pads() || (c_.job.framework.rows_by_index && !c_.fused_permute);
    return by_index ? sort_and_add(shape_.rows, "sort by expert gradient")
                    : move(shape_.rows, shape_.rows, "sort by expert gradient");
  }
  if (pads()) sort_and_add(shape_.rows, "pad rows gradient");
}

}  // namespace plan
