// real/executor/backend.h -- what the actions of operators are made of: memory, kernels, collectives, streams. Actions
// know no device; a backend knows no Plan. Shapes and meaning of every kernel are those of kernels/NAME.h.
//
// All calls but upload(), download(), host_waits() and synchronize() may return before their work is done; they keep
// their order on the stream that begin() named last, and streams wait for one another through events alone.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "core/plan/plan.h"
#include "kernels/adamw.h"
#include "kernels/adamw8bit.h"
#include "kernels/attention.h"
#include "kernels/attention_sinks.h"
#include "kernels/batched_matmul.h"
#include "kernels/block_cast.h"
#include "kernels/capacity.h"
#include "kernels/cast.h"
#include "kernels/cross_entropy.h"
#include "kernels/dropout.h"
#include "kernels/embedding.h"
#include "kernels/gelu.h"
#include "kernels/glu.h"
#include "kernels/grouped_matmul.h"
#include "kernels/joined_loss.h"
#include "kernels/matmul.h"
#include "kernels/mx_cast.h"
#include "kernels/norm.h"
#include "kernels/normal.h"
#include "kernels/permute.h"
#include "kernels/relu.h"
#include "kernels/rotary.h"
#include "kernels/router.h"
#include "kernels/sgd.h"
#include "kernels/softmax.h"
#include "kernels/strided_copy.h"
#include "real/executor/tensor.h"

namespace real {

/// Who takes part in a collective, in the order of their pieces, and which of them this rank is. `channel` keeps what
/// different operators send between the same ranks apart.
struct Group {
  std::vector<int> ranks;
  int self = 0;
  int channel = 0;
  int size() const { return static_cast<int>(ranks.size()); }
};

enum class Sum { add, maximum };

/// A matrix in fp8: a code times its scale is the value.
struct Narrow {
  Tensor codes, scale;
  kernels::Fp8 format = kernels::Fp8::e4m3;
  kernels::Scales scales = kernels::Scales::tensor;
};

/// Moments of an optimizer in 8 bits: codes, of Meaning::code, and scales of blocks of them.
struct NarrowMoments {
  Tensor codes, scales;
};

/// c = a b of matrices in fp8.
struct NarrowMatmul {
  kernels::Matmul matmul;
  Narrow a, b;
  Tensor c;
};

class Backend {
 public:
  virtual ~Backend() = default;

  // Streams and events.
  /// What is called from now on belongs to `stream`, behind the latest record of each of `waits`.
  virtual void begin(plan::Stream stream, std::span<const plan::EventId> waits) = 0;
  /// Behind all that was called since begin().
  virtual void record(plan::EventId event) = 0;
  /// Returns when all that was called on this stream, and all that it waits for, is done.
  virtual void host_waits() = 0;
  /// Returns when everything issued so far is done.
  virtual void synchronize() = 0;

  // Memory. Fresh elements have no value until they are written.
  virtual Tensor allocate(std::int64_t count, Purpose purpose) = 0;
  Tensor allocate(std::int64_t count) { return allocate(count, kActivation); }
  virtual Tensor upload(std::span<const double> values) = 0;  // of Meaning::exact
  /// Asked for the same values again, a backend may give what it has kept of the step: for places of tokens.
  virtual Tensor upload_indices(std::span<const std::int32_t> values) = 0;
  /// Of values that are other ones each time: the memory goes with the tensor.
  virtual Tensor upload_passing_indices(std::span<const std::int32_t> values) = 0;
  virtual std::vector<double> download(const Tensor&) = 0;
  virtual std::vector<std::int32_t> download_indices(const Tensor&) = 0;

  // Elementwise.
  virtual void fill(const Tensor&, double value) = 0;
  virtual void normal(const kernels::Normal&, const Tensor& y) = 0;  // of Meaning::exact
  virtual void scale_add(double alpha, const Tensor& x, double beta, const Tensor& y) = 0;
  virtual void sum(const Tensor& x, const Tensor& y, const Tensor& to) = 0;  // to = x + y
  virtual void strided_copy(const kernels::StridedCopy&, const Tensor& from, const Tensor& to) = 0;
  void copy(const Tensor& from, const Tensor& to) { scale_add(1, from, 0, to); }
  void add(const Tensor& x, const Tensor& y) { scale_add(1, x, 1, y); }
  virtual void glu_forward(const kernels::Glu&, const Tensor& gate_up, const Tensor& y) = 0;
  virtual void glu_backward(const kernels::Glu&, const Tensor& gate_up, const Tensor& dy, const Tensor& dx) = 0;
  virtual void gelu_forward(kernels::Gelu, const Tensor& x, const Tensor& y) = 0;
  virtual void gelu_backward(kernels::Gelu, const Tensor& x, const Tensor& dy, const Tensor& dx) = 0;
  virtual void relu_forward(kernels::Relu, const Tensor& x, const Tensor& y) = 0;
  virtual void relu_backward(kernels::Relu, const Tensor& x, const Tensor& dy, const Tensor& dx) = 0;

  /// Backward is the same function of dy. y may be x.
  virtual void dropout(const kernels::Dropout&, const Tensor& x, const Tensor& y) = 0;

  // Matrices and attention.
  virtual void matmul(const kernels::Matmul&, const Tensor& a, const Tensor& b, const Tensor& c) = 0;
  virtual void batched_matmul(const kernels::BatchedMatmul&, const Tensor& a, const Tensor& b, const Tensor& c) = 0;
  virtual void add_rows(std::int64_t rows, const Tensor& bias, const Tensor& y) = 0;    // y[row] += bias
  virtual void sum_rows(std::int64_t rows, const Tensor& dy, const Tensor& dbias) = 0;  // dbias += sum of dy[row]
  virtual void norm_forward(const kernels::Norm&, const Tensor& x, const Tensor& weight, const Tensor& bias,
                            const Tensor& y, const Tensor& mean, const Tensor& rstd) = 0;
  virtual void norm_backward(const kernels::Norm&, const Tensor& x, const Tensor& weight, const Tensor& mean,
                             const Tensor& rstd, const Tensor& dy, const Tensor& dx, const Tensor& dweight,
                             const Tensor& dbias) = 0;
  /// `to` may be `from`.
  virtual void rotary(const kernels::Rotary&, kernels::Direction, const Tensor& positions, const Tensor& from,
                      const Tensor& to) = 0;
  virtual void attention_forward(const kernels::Attention&, const Tensor& q, const Tensor& k, const Tensor& v,
                                 const Tensor& out, const Tensor& lse) = 0;
  virtual void attention_merge(const kernels::Attention&, const Tensor& other_out, const Tensor& other_lse,
                               const Tensor& out, const Tensor& lse) = 0;
  virtual void attention_backward(const kernels::Attention&, const Tensor& q, const Tensor& k, const Tensor& v,
                                  const Tensor& out, const Tensor& lse, const Tensor& dout, const Tensor& dq,
                                  const Tensor& dk, const Tensor& dv) = 0;
  virtual void attention_sinks_forward(const kernels::Attention&, const Tensor& sinks, const Tensor& out,
                                       const Tensor& lse) = 0;
  virtual void attention_sinks_backward(const kernels::Attention&, const Tensor& sinks, const Tensor& out,
                                        const Tensor& lse, const Tensor& dout, const Tensor& dsinks) = 0;
  /// `sinks`, `begins` (indices) and `lse`: none where there are none.
  virtual void softmax_forward(const kernels::Softmax&, const Tensor& scores, const Tensor& sinks, const Tensor& begins,
                               const Tensor& probabilities, const Tensor& lse) = 0;
  virtual void softmax_backward(const kernels::Softmax&, const Tensor& probabilities, const Tensor& dprobabilities,
                                const Tensor& dscores) = 0;

  // Formats of 8 bits. A scale and a magnitude are one number each.
  virtual void largest_magnitude(const Tensor& x, const Tensor& magnitude) = 0;
  virtual void scale_for(kernels::Fp8, const Tensor& magnitude, const Tensor& scale) = 0;
  /// `codes`, `turned`, `magnitude`: none where it is not wanted.
  virtual void cast(const kernels::Cast&, const Tensor& x, const Tensor& scale, const Tensor& codes,
                    const Tensor& turned, const Tensor& magnitude) = 0;
  virtual void turn(std::int64_t rows, std::int64_t columns, const Tensor& codes, const Tensor& turned) = 0;
  /// Scales: of Meaning::code.
  virtual void mx_cast(const kernels::MxCast&, const Tensor& x, const Tensor& codes, const Tensor& scales,
                       const Tensor& turned, const Tensor& turned_scales) = 0;
  /// Scales: of Meaning::exact.
  virtual void block_cast(const kernels::BlockCast&, const Tensor& x, const Tensor& codes, const Tensor& scales,
                          const Tensor& turned, const Tensor& turned_scales) = 0;
  /// With more than one scale b alone is transposed: scales run along what is summed. `promotes`: partial sums are
  /// added up in fp32 as they are made.
  virtual void narrow_matmul(const kernels::Matmul&, const Narrow& a, const Narrow& b, const Tensor& c,
                             bool promotes) = 0;
  /// One for each expert.
  virtual void narrow_grouped_matmul(std::span<const NarrowMatmul> experts, bool promotes) = 0;

  // Both ends of the model.
  virtual void embedding_forward(const kernels::Embedding&, const Tensor& ids, const Tensor& table,
                                 const Tensor& y) = 0;
  virtual void embedding_backward(const kernels::Embedding&, const Tensor& ids, const Tensor& dy,
                                  const Tensor& dtable) = 0;
  virtual void cross_entropy_maximum(const kernels::CrossEntropy&, const Tensor& logits, const Tensor& maximum) = 0;
  virtual void cross_entropy_sums(const kernels::CrossEntropy&, const Tensor& targets, const Tensor& logits,
                                  const Tensor& maximum, const Tensor& total, const Tensor& target_logit) = 0;
  virtual void cross_entropy_loss(const Tensor& targets, const Tensor& maximum, const Tensor& total,
                                  const Tensor& target_logit, const Tensor& loss) = 0;
  virtual void cross_entropy_gradient(const kernels::CrossEntropy&, const Tensor& targets, const Tensor& maximum,
                                      const Tensor& total, const Tensor& logits) = 0;
  virtual void rescale_total(const Tensor& own, const Tensor& maximum, const Tensor& total) = 0;
  virtual void join_states(const kernels::JoinedStates&, const Tensor& targets, const Tensor& own_maximum,
                           const Tensor& own_total, const Tensor& maximum, const Tensor& total,
                           const Tensor& target_rows, const Tensor& states) = 0;

  // Experts.
  virtual void grouped_matmul(const kernels::GroupedMatmul&, const Tensor& a, const Tensor& b, const Tensor& c) = 0;
  virtual void router_forward(const kernels::Router&, const Tensor& logits, const Tensor& probabilities,
                              const Tensor& experts, const Tensor& weights) = 0;
  virtual void router_backward(const kernels::Router&, const Tensor& probabilities, const Tensor& experts,
                               const Tensor& counts, const Tensor& dweights, const Tensor& dlogits) = 0;
  /// `kept`: indices; REQUIRES: a capacity.
  virtual void drop_choices(const kernels::Permute&, const Tensor& experts, const Tensor& weights,
                            const Tensor& kept) = 0;
  virtual void permute_plan(const kernels::Permute&, const Tensor& experts, const Tensor& counts,
                            const Tensor& rows) = 0;
  virtual void permute_forward(const kernels::Permute&, const Tensor& rows, const Tensor& x, const Tensor& sorted) = 0;
  virtual void permute_backward(const kernels::Permute&, const Tensor& rows, const Tensor& dsorted,
                                const Tensor& dx) = 0;
  virtual void unpermute_forward(const kernels::Permute&, const Tensor& rows, const Tensor& weights,
                                 const Tensor& sorted, const Tensor& y) = 0;
  virtual void unpermute_backward(const kernels::Permute&, const Tensor& rows, const Tensor& weights,
                                  const Tensor& sorted, const Tensor& dy, const Tensor& dsorted,
                                  const Tensor& dweights) = 0;

  // The optimizer. Moments in full are of Meaning::exact, or in bf16 of Meaning::activation. `norm` has one element,
  // the sum of squares; `factor` one, which clips. `weight` receives the new weights in its own type; it may be none.
  virtual void squared_norm(const Tensor& values, const Tensor& norm) = 0;  // adds to norm
  virtual void clip_factor(const Tensor& norm, double max_norm, const Tensor& factor) = 0;
  virtual void scale_by(const Tensor& factor, const Tensor& values) = 0;
  virtual void adamw(const kernels::AdamW&, const Tensor& gradient, const Tensor& master, const Tensor& m,
                     const Tensor& v, const Tensor& weight) = 0;
  virtual void adamw8bit(const kernels::AdamW&, const Tensor& gradient, const Tensor& master, const NarrowMoments& m,
                         const NarrowMoments& v, const Tensor& weight) = 0;
  virtual void sgd(const kernels::Sgd&, const Tensor& gradient, const Tensor& master, const Tensor& m,
                   const Tensor& weight) = 0;

  // The host's memory. Tensors there are touched by these calls alone, which keep the order of their stream, too.
  virtual Tensor to_host(const Tensor&) = 0;
  virtual void to_device(const Tensor& of_host, const Tensor& to) = 0;
  virtual void host_add(const Tensor& x, const Tensor& y) = 0;                   // y += x
  virtual void host_squared_norm(const Tensor& values, const Tensor& norm) = 0;  // adds to norm
  virtual void host_scale(double factor, const Tensor& values) = 0;
  virtual void host_adamw(const kernels::AdamW&, const Tensor& gradient, const Tensor& master, const Tensor& m,
                          const Tensor& v) = 0;
  virtual void host_sgd(const kernels::Sgd&, const Tensor& gradient, const Tensor& master, const Tensor& m) = 0;
  /// Of `exact` numbers, as numbers of `to`.
  virtual Tensor host_copy(const Tensor& from, Meaning to) = 0;

  // Drives. A tensor there is only brought back: it is read by the second call alone.
  virtual Tensor to_drive(const Tensor& of_host) = 0;
  virtual Tensor from_drive(const Tensor& of_drive) = 0;

  // Between ranks. Pieces lie one behind the other in the order of the group.
  virtual void all_reduce(const Group&, Sum, const Tensor& x) = 0;
  /// Of member `root`: to all; or the sum over all to it, the others' x is what it was.
  virtual void broadcast(const Group&, int root, const Tensor& x) = 0;
  virtual void reduce(const Group&, int root, const Tensor& x) = 0;
  virtual void all_gather(const Group&, const Tensor& piece, const Tensor& whole) = 0;
  virtual void reduce_scatter(const Group&, const Tensor& whole, const Tensor& piece) = 0;
  /// `sends[i]` elements go to member i, `receives[i]` come from it.
  virtual void all_to_all(const Group&, std::span<const std::int64_t> sends, const Tensor& from,
                          std::span<const std::int64_t> receives, const Tensor& to) = 0;
  /// To the next member, from the one before.
  virtual void shift(const Group&, const Tensor& from, const Tensor& to) = 0;
  virtual void send(int to, int channel, const Tensor& x) = 0;
  virtual void receive(int from, int channel, const Tensor& x) = 0;
};

}  // namespace real
