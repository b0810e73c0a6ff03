// real/cpu/cpu_backend.h -- a Backend on the CPU, in double: the kernels' references, and collectives over a Transport.
// Everything is done when a call returns. Its times say nothing of a GPU. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "real/cpu/stopwatch.h"
#include "real/executor/backend.h"
#include "real/executor/drive_file.h"
#include "real/launch/world.h"
#include "real/memory/ledger.h"

namespace real {

class CpuBackend final : public Backend {
 public:
  explicit CpuBackend(World& world) : world_(world) {}

  void begin(plan::Stream, std::span<const plan::EventId>) override { watch_.begun(); }
  void record(plan::EventId) override { watch_.ended(); }
  void host_waits() override {}
  void synchronize() override {}

  using Backend::allocate;
  Tensor allocate(std::int64_t count, Purpose purpose) override;
  Tensor upload(std::span<const double> values) override;
  Tensor upload_indices(std::span<const std::int32_t> values) override;
  Tensor upload_passing_indices(std::span<const std::int32_t> values) override { return upload_indices(values); }
  std::vector<double> download(const Tensor&) override;
  std::vector<std::int32_t> download_indices(const Tensor&) override;

  void fill(const Tensor&, double value) override;
  void normal(const kernels::Normal&, const Tensor& y) override;
  void scale_add(double alpha, const Tensor& x, double beta, const Tensor& y) override;
  void sum(const Tensor& x, const Tensor& y, const Tensor& to) override;
  void strided_copy(const kernels::StridedCopy&, const Tensor& from, const Tensor& to) override;
  void glu_forward(const kernels::Glu&, const Tensor& gate_up, const Tensor& y) override;
  void glu_backward(const kernels::Glu&, const Tensor& gate_up, const Tensor& dy, const Tensor& dx) override;
  void gelu_forward(kernels::Gelu, const Tensor& x, const Tensor& y) override;
  void gelu_backward(kernels::Gelu, const Tensor& x, const Tensor& dy, const Tensor& dx) override;
  void relu_forward(kernels::Relu, const Tensor& x, const Tensor& y) override;
  void relu_backward(kernels::Relu, const Tensor& x, const Tensor& dy, const Tensor& dx) override;
  void dropout(const kernels::Dropout&, const Tensor& x, const Tensor& y) override;

  void matmul(const kernels::Matmul&, const Tensor& a, const Tensor& b, const Tensor& c) override;
  void batched_matmul(const kernels::BatchedMatmul&, const Tensor& a, const Tensor& b, const Tensor& c) override;
  void add_rows(std::int64_t rows, const Tensor& bias, const Tensor& y) override;
  void sum_rows(std::int64_t rows, const Tensor& dy, const Tensor& dbias) override;
  void norm_forward(const kernels::Norm&, const Tensor& x, const Tensor& weight, const Tensor& bias, const Tensor& y,
                    const Tensor& mean, const Tensor& rstd) override;
  void norm_backward(const kernels::Norm&, const Tensor& x, const Tensor& weight, const Tensor& mean,
                     const Tensor& rstd, const Tensor& dy, const Tensor& dx, const Tensor& dweight,
                     const Tensor& dbias) override;
  void rotary(const kernels::Rotary&, kernels::Direction, const Tensor& positions, const Tensor& from,
              const Tensor& to) override;
  void attention_forward(const kernels::Attention&, const Tensor& q, const Tensor& k, const Tensor& v,
                         const Tensor& out, const Tensor& lse) override;
  void attention_merge(const kernels::Attention&, const Tensor& other_out, const Tensor& other_lse, const Tensor& out,
                       const Tensor& lse) override;
  void attention_backward(const kernels::Attention&, const Tensor& q, const Tensor& k, const Tensor& v,
                          const Tensor& out, const Tensor& lse, const Tensor& dout, const Tensor& dq, const Tensor& dk,
                          const Tensor& dv) override;
  void attention_sinks_forward(const kernels::Attention&, const Tensor& sinks, const Tensor& out,
                               const Tensor& lse) override;
  void attention_sinks_backward(const kernels::Attention&, const Tensor& sinks, const Tensor& out, const Tensor& lse,
                                const Tensor& dout, const Tensor& dsinks) override;
  void softmax_forward(const kernels::Softmax&, const Tensor& scores, const Tensor& sinks, const Tensor& begins,
                       const Tensor& probabilities, const Tensor& lse) override;
  void softmax_backward(const kernels::Softmax&, const Tensor& probabilities, const Tensor& dprobabilities,
                        const Tensor& dscores) override;

  void largest_magnitude(const Tensor& x, const Tensor& magnitude) override;
  void scale_for(kernels::Fp8, const Tensor& magnitude, const Tensor& scale) override;
  void cast(const kernels::Cast&, const Tensor& x, const Tensor& scale, const Tensor& codes, const Tensor& turned,
            const Tensor& magnitude) override;
  void turn(std::int64_t rows, std::int64_t columns, const Tensor& codes, const Tensor& turned) override;
  void mx_cast(const kernels::MxCast&, const Tensor& x, const Tensor& codes, const Tensor& scales, const Tensor& turned,
               const Tensor& turned_scales) override;
  void block_cast(const kernels::BlockCast&, const Tensor& x, const Tensor& codes, const Tensor& scales,
                  const Tensor& turned, const Tensor& turned_scales) override;
  void narrow_matmul(const kernels::Matmul&, const Narrow& a, const Narrow& b, const Tensor& c, bool promotes) override;
  void narrow_grouped_matmul(std::span<const NarrowMatmul> experts, bool promotes) override;

  void embedding_forward(const kernels::Embedding&, const Tensor& ids, const Tensor& table, const Tensor& y) override;
  void embedding_backward(const kernels::Embedding&, const Tensor& ids, const Tensor& dy,
                          const Tensor& dtable) override;
  void cross_entropy_maximum(const kernels::CrossEntropy&, const Tensor& logits, const Tensor& maximum) override;
  void cross_entropy_sums(const kernels::CrossEntropy&, const Tensor& targets, const Tensor& logits,
                          const Tensor& maximum, const Tensor& total, const Tensor& target_logit) override;
  void cross_entropy_loss(const Tensor& targets, const Tensor& maximum, const Tensor& total, const Tensor& target_logit,
                          const Tensor& loss) override;
  void cross_entropy_gradient(const kernels::CrossEntropy&, const Tensor& targets, const Tensor& maximum,
                              const Tensor& total, const Tensor& logits) override;
  void rescale_total(const Tensor& own, const Tensor& maximum, const Tensor& total) override;
  void join_states(const kernels::JoinedStates&, const Tensor& targets, const Tensor& own_maximum,
                   const Tensor& own_total, const Tensor& maximum, const Tensor& total, const Tensor& target_rows,
                   const Tensor& states) override;

  void grouped_matmul(const kernels::GroupedMatmul&, const Tensor& a, const Tensor& b, const Tensor& c) override;
  void router_forward(const kernels::Router&, const Tensor& logits, const Tensor& probabilities, const Tensor& experts,
                      const Tensor& weights) override;
  void router_backward(const kernels::Router&, const Tensor& probabilities, const Tensor& experts, const Tensor& counts,
                       const Tensor& dweights, const Tensor& dlogits) override;
  void drop_choices(const kernels::Permute&, const Tensor& experts, const Tensor& weights, const Tensor& kept) override;
  void permute_plan(const kernels::Permute&, const Tensor& experts, const Tensor& counts, const Tensor& rows) override;
  void permute_forward(const kernels::Permute&, const Tensor& rows, const Tensor& x, const Tensor& sorted) override;
  void permute_backward(const kernels::Permute&, const Tensor& rows, const Tensor& dsorted, const Tensor& dx) override;
  void unpermute_forward(const kernels::Permute&, const Tensor& rows, const Tensor& weights, const Tensor& sorted,
                         const Tensor& y) override;
  void unpermute_backward(const kernels::Permute&, const Tensor& rows, const Tensor& weights, const Tensor& sorted,
                          const Tensor& dy, const Tensor& dsorted, const Tensor& dweights) override;

  void squared_norm(const Tensor& values, const Tensor& norm) override;
  void clip_factor(const Tensor& norm, double max_norm, const Tensor& factor) override;
  void scale_by(const Tensor& factor, const Tensor& values) override;
  void adamw(const kernels::AdamW&, const Tensor& gradient, const Tensor& master, const Tensor& m, const Tensor& v,
             const Tensor& weight) override;
  void adamw8bit(const kernels::AdamW&, const Tensor& gradient, const Tensor& master, const NarrowMoments& m,
                 const NarrowMoments& v, const Tensor& weight) override;
  void sgd(const kernels::Sgd&, const Tensor& gradient, const Tensor& master, const Tensor& m,
           const Tensor& weight) override;

  Tensor to_host(const Tensor&) override;
  void to_device(const Tensor& of_host, const Tensor& to) override;
  void host_add(const Tensor& x, const Tensor& y) override;
  void host_squared_norm(const Tensor& values, const Tensor& norm) override;
  void host_scale(double factor, const Tensor& values) override;
  void host_adamw(const kernels::AdamW&, const Tensor& gradient, const Tensor& master, const Tensor& m,
                  const Tensor& v) override;
  void host_sgd(const kernels::Sgd&, const Tensor& gradient, const Tensor& master, const Tensor& m) override;
  Tensor host_copy(const Tensor& from, Meaning to) override;
  Tensor to_drive(const Tensor& of_host) override;
  Tensor from_drive(const Tensor& of_drive) override;

  void all_reduce(const Group&, Sum, const Tensor& x) override;
  void broadcast(const Group&, int root, const Tensor& x) override;
  void reduce(const Group&, int root, const Tensor& x) override;
  void all_gather(const Group&, const Tensor& piece, const Tensor& whole) override;
  void reduce_scatter(const Group&, const Tensor& whole, const Tensor& piece) override;
  void all_to_all(const Group&, std::span<const std::int64_t> sends, const Tensor& from,
                  std::span<const std::int64_t> receives, const Tensor& to) override;
  void shift(const Group&, const Tensor& from, const Tensor& to) override;
  void send(int to, int channel, const Tensor& x) override;
  void receive(int from, int channel, const Tensor& x) override;

  Stopwatch& watch() { return watch_; }
  /// What the tensors in use take in the widths of a GPU's types.
  Ledger& ledger() { return *ledger_; }

 private:
  World& world_;
  Stopwatch watch_;
  std::shared_ptr<DriveFile> drive_;  // tensors may outlive the backend
  std::shared_ptr<Ledger> ledger_ = std::make_shared<Ledger>();
};

}  // namespace real
