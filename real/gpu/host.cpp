// real/gpu/host.cpp -- what the GPU backend copies to the host's memory, back, and computes there: functions that CUDA
// runs on a thread of its own when the stream reaches them, to and from drives, too.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <functional>
#include <memory>
#include <numeric>
#include <span>

#include "real/gpu/gpu_backend.h"
#include "real/gpu/host_pieces.h"
#include "real/measure/element.h"

namespace real {
namespace {

std::size_t size_of(const Tensor& t) { return static_cast<std::size_t>(t.count * bytes_of(t.meaning)); }

HostMemory& memory(const Tensor& t) { return static_cast<HostMemory&>(*t.storage); }

template <class T>
std::span<T> numbers(const Tensor& t) {
  return {static_cast<T*>(memory(t).buffer->data()) + t.offset, static_cast<std::size_t>(t.count)};
}

std::span<std::byte> bytes(const Tensor& t) {
  return {static_cast<std::byte*>(memory(t).buffer->data()) + t.offset * bytes_of(t.meaning), size_of(t)};
}

/// The upper half of the fp32, rounded to the nearest, ties to even.
std::uint16_t nearest_bf16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if (std::isnan(value)) return static_cast<std::uint16_t>(bits >> 16 | 0x40u);  // stays not a number
  return static_cast<std::uint16_t>((bits + 0x7fff + (bits >> 16 & 1u)) >> 16);
}

void CUDART_CB call(void* function) {
  const std::unique_ptr<std::function<void()>> owned(static_cast<std::function<void()>*>(function));
  (*owned)();
}

}  // namespace

/// The tensors live until it has run: their memory is marked as this stream's. Nothing is launched by it: a profiler of
/// the GPU has no record of functions of the host.
void GpuBackend::on_host(std::initializer_list<Tensor> tensors, std::function<void()> work) {
  for (const Tensor& t : tensors) memory(t).used |= 1u << static_cast<unsigned>(current_);
  auto owned = std::make_unique<std::function<void()>>(std::move(work));
  check(cudaLaunchHostFunc(raw(), call, owned.get()), "cudaLaunchHostFunc");
  owned.release();
}

Tensor GpuBackend::to_host(const Tensor& t) {
  const auto host = std::make_shared<HostMemory>(std::max<std::size_t>(size_of(t), 1), host_pool_);
  host->used |= 1u << static_cast<unsigned>(current_);
  launch([&] {
    check(cudaMemcpyAsync(host->buffer->data(), at(t), size_of(t), cudaMemcpyDeviceToHost, raw()), "cudaMemcpyAsync");
  });
  return {host, 0, t.count, t.meaning};
}

void GpuBackend::to_device(const Tensor& of_host, const Tensor& to) {
  memory(of_host).used |= 1u << static_cast<unsigned>(current_);
  const auto* const from = static_cast<const char*>(memory(of_host).buffer->data());
  const std::int64_t offset = of_host.offset * bytes_of(of_host.meaning);
  launch([&] {
    check(cudaMemcpyAsync(at(to), from + offset, size_of(of_host), cudaMemcpyHostToDevice, raw()), "cudaMemcpyAsync");
  });
}

void GpuBackend::host_add(const Tensor& x, const Tensor& y) {
  on_host({x, y}, [cores = host_cores_, from = numbers<float>(x), to = numbers<float>(y)] {
    in_pieces(to.size(), cores, [=](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) to[i] += from[i];
    });
  });
}

void GpuBackend::host_squared_norm(const Tensor& values, const Tensor& norm) {
  on_host({values, norm}, [cores = host_cores_, all = numbers<float>(values), sum = numbers<double>(norm)] {
    sum[0] += sum_of_pieces(all.size(), cores, [=](std::size_t begin, std::size_t end) {
      std::array<double, 8> lanes{};  // sums of their own, or each addition would wait for the one before
      std::size_t i = begin;
      for (; i + lanes.size() <= end; i += lanes.size()) {
        for (std::size_t j = 0; j < lanes.size(); ++j) lanes[j] += static_cast<double>(all[i + j]) * all[i + j];
      }
      for (; i < end; ++i) lanes[0] += static_cast<double>(all[i]) * all[i];
      return std::accumulate(lanes.begin(), lanes.end(), 0.0);
    });
  });
}

void GpuBackend::host_scale(double factor, const Tensor& values) {
  on_host({values}, [cores = host_cores_, factor = static_cast<float>(factor), all = numbers<float>(values)] {
    in_pieces(all.size(), cores, [=](std::size_t begin, std::size_t end) {
      for (std::size_t i = begin; i < end; ++i) all[i] *= factor;
    });
  });
}

namespace {

/// A moment in fp32 or bf16, as the host computes with it.
float wide(float moment) { return moment; }
float wide(std::uint16_t moment) { return std::bit_cast<float>(static_cast<std::uint32_t>(moment) << 16); }
void keep(float value, float& moment) { moment = value; }
void keep(float value, std::uint16_t& moment) { moment = nearest_bf16(value); }

template <class M>
void step(const kernels::AdamW& a, unsigned cores, std::span<const float> all_g, std::span<float> all_w,
          std::span<M> all_m, std::span<M> all_v) {
  const auto step = static_cast<double>(a.step);
  const auto correct_m = static_cast<float>(1 / (1 - std::pow(a.beta1, step)));
  const auto correct_v = static_cast<float>(1 / (1 - std::pow(a.beta2, step)));
  const auto rate = static_cast<float>(a.learning_rate), decay = static_cast<float>(a.weight_decay);
  const auto beta1 = static_cast<float>(a.beta1), beta2 = static_cast<float>(a.beta2);
  const auto epsilon = static_cast<float>(a.epsilon);
  in_pieces(all_w.size(), cores, [=](std::size_t begin, std::size_t end) {
    const float* const g = all_g.data();
    float* __restrict const w = all_w.data();
    M* __restrict const moment = all_m.data(), * __restrict const square = all_v.data();
    for (std::size_t i = begin; i < end; ++i) {
      const float m = beta1 * wide(moment[i]) + (1 - beta1) * g[i];
      const float v = beta2 * wide(square[i]) + (1 - beta2) * g[i] * g[i];
      keep(m, moment[i]);
      keep(v, square[i]);
      w[i] -= rate * (m * correct_m / (std::sqrt(v * correct_v) + epsilon) + decay * w[i]);
    }
  });
}

template <class M>
void step(const kernels::Sgd& s, unsigned cores, std::span<const float> g, std::span<float> w, std::span<M> all_m) {
  const auto rate = static_cast<float>(s.learning_rate), momentum = static_cast<float>(s.momentum);
  const auto decay = static_cast<float>(s.weight_decay);
  in_pieces(w.size(), cores, [=](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; ++i) {
      const float m = momentum * wide(all_m[i]) + g[i] + decay * w[i];
      keep(m, all_m[i]);
      w[i] -= rate * m;
    }
  });
}

/// Calls body.operator()<M>() with the type of moments on the host.
template <class Body>
void with_moments(const Tensor& m, Body body) {
  m.meaning == Meaning::activation ? body.template operator()<std::uint16_t>() : body.template operator()<float>();
}

}  // namespace

void GpuBackend::host_adamw(const kernels::AdamW& a, const Tensor& gradient, const Tensor& master, const Tensor& m,
                            const Tensor& v) {
  with_moments(m, [&]<class M>() {
    on_host({gradient, master, m, v}, [a, cores = host_cores_, g = numbers<float>(gradient), w = numbers<float>(master),
                                       m = numbers<M>(m), v = numbers<M>(v)] { step<M>(a, cores, g, w, m, v); });
  });
}

void GpuBackend::host_sgd(const kernels::Sgd& s, const Tensor& gradient, const Tensor& master, const Tensor& m) {
  with_moments(m, [&]<class M>() {
    on_host({gradient, master, m}, [s, cores = host_cores_, g = numbers<float>(gradient), w = numbers<float>(master),
                                    m = numbers<M>(m)] { step<M>(s, cores, g, w, m); });
  });
}

Tensor GpuBackend::host_copy(const Tensor& from, Meaning to) {
  const auto bytes = static_cast<std::size_t>(from.count * bytes_of(to));
  const Tensor out{std::make_shared<HostMemory>(std::max<std::size_t>(bytes, 1), host_pool_), 0, from.count, to};
  if (to == Meaning::activation) {
    on_host({from, out}, [cores = host_cores_, x = numbers<float>(from), y = numbers<std::uint16_t>(out)] {
      in_pieces(x.size(), cores, [=](std::size_t begin, std::size_t end) {
        for (std::size_t i = begin; i < end; ++i) y[i] = nearest_bf16(x[i]);
      });
    });
  } else {
    on_host({from, out}, [x = numbers<float>(from), y = numbers<float>(out)] { std::ranges::copy(x, y.begin()); });
  }
  return out;
}

/// The piece lives until it has been written, wherever the tensor has gone.
Tensor GpuBackend::to_drive(const Tensor& of_host) {
  if (!drive_) drive_ = std::make_shared<DriveFile>();
  const std::span<const std::byte> from = bytes(of_host);
  const auto piece = std::make_shared<DrivePiece>(drive_, static_cast<std::int64_t>(from.size()), false);
  on_host({of_host}, [faults = drive_faults_, piece, from] { faults->run([&] { piece->write(from); }); });
  return {piece, 0, of_host.count, of_host.meaning};
}

Tensor GpuBackend::from_drive(const Tensor& of_drive) {
  const Tensor out{std::make_shared<HostMemory>(std::max<std::size_t>(size_of(of_drive), 1), host_pool_), 0,
                   of_drive.count, of_drive.meaning};
  const auto piece = std::static_pointer_cast<DrivePiece>(of_drive.storage);
  const std::int64_t offset = of_drive.offset * bytes_of(of_drive.meaning);
  on_host({out},
          [faults = drive_faults_, piece, offset, to = bytes(out)] { faults->run([&] { piece->read(offset, to); }); });
  return out;
}

}  // namespace real
