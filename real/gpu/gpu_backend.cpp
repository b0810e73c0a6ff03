// real/gpu/gpu_backend.cpp -- streams, events, memory; see gpu_backend.h. The kernels are in kernels.cpp, the libraries
// in matrices.cpp, NCCL in collectives.cpp. SPDX-License-Identifier: Apache-2.0
#include "real/gpu/gpu_backend.h"

#include <algorithm>
#include <thread>

#include "core/base/fault.h"
#include "real/measure/element.h"

namespace real {

GpuBackend::GpuBackend(const World& world, int device, const Communicator& everyone,
                       const std::vector<Membership>& memberships)
    : world_(world),
      device_(device),
      pool_(device),
      memberships_(memberships),
      waiter_(
          world_,
          [this] {
            for (const auto& one : communicators_) {
              if (one) one->check_async();
            }
          },
          [this] { give_up(); }) {
  pool_.when_full({[this] { return recycler_.wait_for_oldest([this](const Event& event) { waiter_.until(event); }); },
                   [this] { wait_for_all(); }});
  try {
    matmuls();  // compute's workspace: no memory is asked of the driver in a step, which would wait for the device
    for (const Membership& one : memberships_) communicators_.push_back(everyone.split(one.color, one.key));
  } catch (const std::exception& error) {
    waiter_.give_up(error);  // or freeing those that are there would wait for ranks that know of nothing
    throw;
  }
}

/// What a failure left under way still uses what goes now, on any stream; give_up() has ended what waits for others.
GpuBackend::~GpuBackend() {
  held_.reset();
  const HostCall::Scope held(*world_.call, "cudaDeviceSynchronize", world_.patience.finish);
  cudaDeviceSynchronize();
  indices_.clear();
  recycler_.clear();
}

/// Each on a thread of its own: ending one waits for its kernels, which may lie behind those of another that wait for a
/// rank that is gone. Graphs go before, as far as they do not run: NCCL ends no communicator that one of them holds.
void GpuBackend::give_up() {
  if (graph_) graph_->give_up();
  std::vector<std::jthread> threads;
  for (auto& one : communicators_) {
    if (!one) continue;
    threads.emplace_back([this, &one] {
      cudaSetDevice(device_);
      one->abort();
    });
  }
}

// Streams and events.

void GpuBackend::begin_step() {
  between_steps_ = false;
  operators_ = 0;
  // What was called between steps is on the compute stream alone, and no event puts the others behind it.
  host_.record(stream());
  waiter_.until(host_);
  if (capturing_) return graph_->begin();
  step_begin_.record(stream());
}

void GpuBackend::begin(plan::Stream stream, std::span<const plan::EventId> waits) {
  end_operator();
  held_.emplace(*world_.call, "a call into CUDA", world_.patience.message);
  if (between_steps_) begin_step();
  current_ = stream;
  if (capturing_) graph_->enter(stream);
  for (const plan::EventId event : waits) {
    if (!board_.must_wait(stream, event)) continue;
    this->stream().wait_for(events_[static_cast<std::size_t>(event)]);
    board_.wait(stream, event);
  }
  recycler_.poll();
  launched_ = false;
  ++operators_;
  if (observer_ != nullptr) observer_->begun(operators_);
}

void GpuBackend::end_operator() {
  held_.reset();
  if (!between_steps_ && observer_ != nullptr) observer_->ended(operators_, launched_);
}

void GpuBackend::record(plan::EventId event) {
  events_[static_cast<std::size_t>(event)].record(stream());
  board_.record(event, current_);
}

void GpuBackend::host_waits() {
  if (capturing_) return split_capture();
  host_.record(stream());
  waiter_.until(host_);
}

void GpuBackend::synchronize() {
  end_operator();
  const HostCall::Scope held(*world_.call, "a call into CUDA", world_.patience.message);
  current_ = plan::Stream::compute;
  if (capturing_) return end_capture();
  for (std::size_t s = 0; s < streams_.size(); ++s) {
    if (static_cast<plan::Stream>(s) == current_ || !streams_.has(s)) continue;
    joined_[s].record(streams_[s]);
    stream().wait_for(joined_[s]);
  }
  step_end_.record(stream());
  waiter_.until(step_end_);
  drive_faults_->check();
  if (!between_steps_) last_step_ = elapsed(step_begin_, step_end_);
  between_steps_ = true;
  board_.clear();
  recycler_.clear();
  indices_.settle();
}

// Memory.

void GpuBackend::wait_for_all() {
  for (std::size_t s = 0; s < streams_.size(); ++s) {
    if (streams_.has(s)) joined_[s].record(streams_[s]);
  }
  for (const Event& event : joined_) waiter_.until(event);  // one that was never recorded is over
}

void* GpuBackend::at(const Tensor& t) const {
  if (!t) return nullptr;
  auto& memory = static_cast<DeviceMemory&>(*t.storage);
  if (memory.home != current_) memory.uses.add(current_, board_.next(current_));
  char* const first = memory.buffer.as<char>();
  return first == nullptr ? nullptr : first + t.offset * bytes_of(t.meaning);
}

Tensor GpuBackend::allocate(std::int64_t count, Purpose purpose) {
  DeviceBuffer buffer = pool_.take(purpose.category, count * bytes_of(purpose.meaning), stream());
  return {std::make_shared<DeviceMemory>(std::move(buffer), current_, recycler_), 0, count, purpose.meaning};
}

Tensor GpuBackend::upload(std::span<const double> values) {
  const Tensor out = allocate(static_cast<std::int64_t>(values.size()), kNumbers);
  constexpr std::size_t kPiece = Staging::kMost / sizeof(float);
  for (std::size_t begin = 0; begin < values.size(); begin += kPiece) {
    const auto piece = values.subspan(begin, std::min(kPiece, values.size() - begin));
    auto* const to = static_cast<float*>(staging_.begin(piece.size() * sizeof(float)));
    std::ranges::transform(piece, to, [](double value) { return static_cast<float>(value); });
    launch([&] { staging_.send(as<float>(out) + begin, piece.size() * sizeof(float), stream()); });
  }
  return out;
}

/// A graph copies from the same place in each of its runs.
void GpuBackend::send_indices(std::span<const std::int32_t> piece, std::int32_t* to) {
  void* const from = capturing_ ? graph_->keep(piece.size_bytes()) : staging_.begin(piece.size_bytes());
  std::ranges::copy(piece, static_cast<std::int32_t*>(from));
  launch([&] {
    if (!capturing_) return staging_.send(to, piece.size_bytes(), stream());
    check(cudaMemcpyAsync(to, from, piece.size_bytes(), cudaMemcpyHostToDevice, raw()), "cudaMemcpyAsync");
  });
}

Tensor GpuBackend::upload_passing_indices(std::span<const std::int32_t> values) {
  const Tensor out = allocate(static_cast<std::int64_t>(values.size()), kIndices);
  constexpr std::size_t kPiece = Staging::kMost / sizeof(std::int32_t);
  for (std::size_t begin = 0; begin < values.size(); begin += kPiece) {
    const auto piece = values.subspan(begin, std::min(kPiece, values.size() - begin));
    send_indices(piece, as<std::int32_t>(out) + begin);
  }
  return out;
}

Tensor GpuBackend::upload_indices(std::span<const std::int32_t> values) {
  if (const Tensor sent = indices_.find(values, current_)) return sent;
  const Tensor out = upload_passing_indices(values);
  indices_.add(values, current_, out);
  return out;
}

/// Kept, since giving page-locked memory back waits for the whole device, and losses, norms and the counts of experts
/// are read in every step.
PinnedBuffer& GpuBackend::landing(std::size_t bytes) {
  constexpr std::size_t kLeast = 64 << 10;
  const std::size_t wanted = std::clamp(bytes, kLeast, Staging::kMost);
  if (!landing_ || landing_->bytes() < wanted) landing_.emplace(wanted);
  return *landing_;
}

std::vector<std::byte> GpuBackend::bytes_of_device(const Tensor& t) {
  std::vector<std::byte> out(static_cast<std::size_t>(t.count * bytes_of(t.meaning)));
  const PinnedBuffer& piece = landing(out.size());
  for (std::size_t begin = 0; begin < out.size(); begin += piece.bytes()) {
    const std::size_t length = std::min(piece.bytes(), out.size() - begin);
    launch([&] {
      check(cudaMemcpyAsync(piece.data(), as<char>(t) + begin, length, cudaMemcpyDeviceToHost, raw()),
            "cudaMemcpyAsync");
    });
    host_waits();
    std::copy_n(static_cast<const std::byte*>(piece.data()), length, out.begin() + static_cast<std::ptrdiff_t>(begin));
  }
  return out;
}

std::vector<double> GpuBackend::download(const Tensor& t) {
  if (t.meaning == Meaning::activation) {  // through fp32, which the host knows
    const Tensor wide = allocate(t.count, kNumbers);
    copy(t, wide);
    return download(wide);
  }
  const std::vector<std::byte> bytes = bytes_of_device(t);
  std::vector<double> out(static_cast<std::size_t>(t.count));
  const auto read = [&]<class T>() { std::copy_n(reinterpret_cast<const T*>(bytes.data()), out.size(), out.begin()); };
  t.meaning == Meaning::sum ? read.operator()<double>() : read.operator()<float>();
  return out;
}

std::vector<std::int32_t> GpuBackend::download_indices(const Tensor& t) {
  const std::vector<std::byte> bytes = bytes_of_device(t);
  std::vector<std::int32_t> out(static_cast<std::size_t>(t.count));
  std::copy_n(reinterpret_cast<const std::int32_t*>(bytes.data()), out.size(), out.begin());
  return out;
}

}  // namespace real
