// real/gpu/gpu_backend.h -- a Backend on one GPU: the kernels of kernels/, cuBLASLt, cuDNN where it takes the shape,
// NCCL; a CUDA stream for each stream of the Plan, a CUDA event for each of its events. bf16 in, fp32 sums.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "kernels/vendor/attention.h"
#include "kernels/vendor/batched_matmul.h"
#include "kernels/vendor/grouped_matmul.h"
#include "kernels/vendor/matmul.h"
#include "real/cuda/communicator.h"
#include "real/cuda/pool.h"
#include "real/executor/backend.h"
#include "real/executor/drive_file.h"
#include "real/gpu/drive_faults.h"
#include "real/gpu/host_memory.h"
#include "real/gpu/host_pieces.h"
#include "real/gpu/index_cache.h"
#include "real/gpu/recycler.h"
#include "real/gpu/staging.h"
#include "real/gpu/step_graph.h"
#include "real/gpu/streams.h"
#include "real/gpu/waiter.h"
#include "real/measure/event_board.h"
#include "real/measure/memberships.h"

namespace real {

/// Is told of the operators as they are issued: the n-th begin() since the last synchronize(), from 1.
class Observer {
 public:
  virtual ~Observer() = default;
  virtual void begun(std::uint64_t operator_number) = 0;
  /// `launched`: whether anything was given to the device since begun().
  virtual void ended(std::uint64_t operator_number, bool launched) = 0;
};

class GpuBackend final : public Backend {
 public:
  /// Of the device that is current. Every rank of `world` makes one at the same time: communicators are split for each
  /// channel. All must outlive it.
  GpuBackend(const World& world, int device, const Communicator& everyone, const std::vector<Membership>& memberships);
  ~GpuBackend() override;

  /// Nothing: nobody is told.
  void observe(Observer* observer) { observer_ = observer; }
  /// The next step is captured in graphs, and run by them at its end; run_captured() runs it again, with the same
  /// tokens and the same count of steps. REQUIRES: a step before it, which made all plans of libraries; uncapturable()
  /// is empty.
  void capture_next_step();
  void run_captured();
  /// Uses every channel once, in one order on all ranks: before the first step. Throws what NCCL says.
  void connect();
  /// Ends what this rank has under way with others: one of them is gone, or this one. Good for nothing afterwards; a
  /// second time is nothing.
  void give_up();
  /// From the first operator behind a synchronize() to the end of all, by the device's clock.
  base::Seconds last_step() const { return last_step_; }
  Pool& pool() { return pool_; }
  /// Why the plain kernel computed attention, once for each reason.
  const std::set<std::string>& plain_attention() const { return plain_attention_; }
  /// Why matmuls of experts ran one by one, once for each reason.
  const std::set<std::string>& experts_one_by_one() const { return experts_one_by_one_; }

  void begin(plan::Stream, std::span<const plan::EventId> waits) override;
  void record(plan::EventId) override;
  void host_waits() override;
  void synchronize() override;

  using Backend::allocate;
  Tensor allocate(std::int64_t count, Purpose purpose) override;
  Tensor upload(std::span<const double> values) override;
  Tensor upload_indices(std::span<const std::int32_t> values) override;
  Tensor upload_passing_indices(std::span<const std::int32_t> values) override;
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

 private:
  // What launches need (gpu_backend.cpp).
  const Stream& stream() const { return streams_[static_cast<std::size_t>(current_)]; }
  cudaStream_t raw() const { return stream().get(); }
  void* at(const Tensor&) const;  // null where there is none
  template <class T>
  T* as(const Tensor& t) const {
    return static_cast<T*>(at(t));
  }
  /// Runs what gives work to the device, and says in base::DeviceError what it did not take.
  template <class Launch>
  void launch(Launch give);
  void end_operator();
  void begin_step();
  void wait_for_all();  // that the streams have been given
  std::vector<std::byte> bytes_of_device(const Tensor&);
  PinnedBuffer& landing(std::size_t bytes);  // of so many, or of as many as go at once
  void send_indices(std::span<const std::int32_t> piece, std::int32_t* to);
  void copy_codes(const Tensor& from, const Tensor& to);
  void add_sum(const Tensor& x, const Tensor& y);

  // A step that is captured (captured_step.cpp).
  void split_capture();
  void end_capture();

  /// `work` on tensors of the host, when the current stream reaches it (host.cpp).
  void on_host(std::initializer_list<Tensor> tensors, std::function<void()> work);

  // Libraries (matrices.cpp).
  kernels::vendor::MatmulLibrary& matmuls();
  /// Whether cuBLAS has given them to the device by one kernel (grouped.cpp).
  bool run_grouped(const std::vector<kernels::ExpertMatmul>&, const kernels::vendor::MatmulTypes&, const Tensor& a,
                   const Tensor& b, const Tensor& c);
  bool cudnn_takes(const kernels::Attention&, kernels::vendor::Pass);
  DeviceBuffer lend(std::size_t bytes) {
    return pool_.take(plan::Category::workspace, static_cast<std::int64_t>(bytes), stream());
  }

  // Ranks (collectives.cpp).
  ncclComm_t communicator(int channel) const;
  int place_of(int channel, int rank) const;
  void put_in(int channel, int peer, const Tensor&);  // a message, by the peer's place
  void take_out(int channel, int peer, const Tensor&);

  const World& world_;
  int device_;
  unsigned host_cores_ = cores_of_a_rank(world_.identity.local_world);
  Pool pool_;  // outlives what is taken of it
  Streams streams_;
  EventBoard board_;
  Recycler recycler_{streams_, board_};
  HostPool host_pool_{streams_};
  std::shared_ptr<DriveFile> drive_;  // of what is offloaded there
  std::shared_ptr<DriveFaults> drive_faults_ = std::make_shared<DriveFaults>();
  std::array<Event, plan::kEvents> events_;
  std::array<Event, plan::kStreams> joined_;
  Event step_begin_{Event::Kind::timing}, step_end_{Event::Kind::timing}, host_;
  base::Seconds last_step_;
  std::vector<Membership> memberships_;
  std::vector<std::optional<Communicator>> communicators_;  // by channel
  Waiter waiter_;
  Staging staging_{waiter_};
  std::optional<PinnedBuffer> landing_;  // of what the host reads
  IndexCache indices_;
  struct Matmuls {
    explicit Matmuls(DeviceBuffer lent) : workspace(std::move(lent)), library(workspace.data()) {}
    DeviceBuffer workspace;
    kernels::vendor::MatmulLibrary library;
  };
  std::map<plan::Stream, Matmuls> matmuls_;
  std::optional<kernels::vendor::BatchedMatmulLibrary> batched_matmuls_;
  std::optional<kernels::vendor::AttentionLibrary> attention_;
  std::map<std::pair<kernels::vendor::Pass, kernels::Attention>, bool> taken_;  // by cuDNN
  std::set<std::string> plain_attention_;
  std::optional<StepGraph> graph_;
  bool capturing_ = false;
  std::optional<kernels::vendor::GroupedMatmulLibrary> grouped_;
  std::set<std::string> experts_one_by_one_;
  Observer* observer_ = nullptr;

  plan::Stream current_ = plan::Stream::compute;
  bool between_steps_ = true;
  std::uint64_t operators_ = 0;          // begun since the last synchronize()
  bool launched_ = false;                // by the operator begun last
  std::optional<HostCall::Scope> held_;  // by the operator begun last: any call of it may wait for the device
};

template <class Launch>
void GpuBackend::launch(Launch give) {
  launched_ = true;
  const HostCall::Scope held(*world_.call, "a launch", world_.patience.message);
  try {
    give();
  } catch (const kernels::DeviceError& error) {
    throw base::DeviceError(error.what());
  }
}

}  // namespace real
