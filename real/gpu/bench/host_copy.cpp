// real/gpu/bench/host_copy.cpp -- copies between the host's memory and the GPU's, alone, both ways at once and beside
// matmuls. SPDX-License-Identifier: Apache-2.0
#include <memory>

#include "real/gpu/bench/company.h"
#include "real/gpu/bench/stopwatch.h"

namespace real {
namespace {

using Direction = HostCopy::Direction;
constexpr double kOutlasts = 2;

/// Bytes of the host, not all alike: page-locked, or as malloc gives them.
class HostBytes {
 public:
  HostBytes(std::size_t bytes, bool pinned) {
    if (pinned) {
      locked_ = std::make_unique<PinnedBuffer>(bytes);
    } else {
      plain_.resize(bytes);
    }
    for (std::size_t i = 0; i < bytes; ++i) data()[i] = static_cast<std::byte>(i * 31 + i / 4096);
  }
  std::byte* data() { return locked_ ? static_cast<std::byte*>(locked_->data()) : plain_.data(); }

 private:
  std::unique_ptr<PinnedBuffer> locked_;
  std::vector<std::byte> plain_;
};

void copy(void* to, const void* from, std::int64_t bytes, cudaMemcpyKind kind, const Stream& stream) {
  check(cudaMemcpyAsync(to, from, static_cast<std::size_t>(bytes), kind, stream.get()), "cudaMemcpyAsync");
}

/// The copy of `s`; both ways begin together on two streams, and what follows on the first waits for both.
class Copies {
 public:
  Copies(const HostCopy& s, Kit& kit)
      : copy_(s),
        out_(static_cast<std::size_t>(s.bytes), s.pinned),
        back_(s.direction == Direction::both ? static_cast<std::size_t>(s.bytes) : 0, s.pinned),
        device_(kit.arena.numbers(s.bytes / 2, Filling::bf16)),
        other_device_(kit.arena.numbers(s.bytes / 2, Filling::bf16)) {}

  void run(const Stream& stream) {
    if (copy_.direction == Direction::to_host) {
      return copy(out_.data(), device_, copy_.bytes, cudaMemcpyDeviceToHost, stream);
    }
    if (copy_.direction == Direction::both) {
      begun_.record(stream);
      second_.wait_for(begun_);
      copy(back_.data(), other_device_, copy_.bytes, cudaMemcpyDeviceToHost, second_);
      done_.record(second_);
    }
    copy(device_, out_.data(), copy_.bytes, cudaMemcpyHostToDevice, stream);
    if (copy_.direction == Direction::both) stream.wait_for(done_);
  }

 private:
  HostCopy copy_;
  HostBytes out_, back_;
  void *device_, *other_device_;
  Stream second_;
  Event begun_, done_;
};

std::vector<base::Seconds> beside_matmuls(Copies& copies, Kit& kit, base::Seconds most) {
  const Work matmul = prepared(kReferenceMatmul, kit);
  const Work subject = [&](const Stream& stream) { copies.run(stream); };
  const int matmuls = runs_to_outlast(alone(subject, kit), alone(matmul, kit), kOutlasts);
  const Event begin(Event::Kind::timing), end(Event::Kind::timing), running, last;
  return repeated(
      [&] {
        kit.stream.synchronize();
        matmul(kit.stream);
        running.record(kit.stream);
        for (int i = 0; i < matmuls; ++i) matmul(kit.stream);
        last.record(kit.stream);
        kit.other.wait_for(running);
        begin.record(kit.other);
        copies.run(kit.other);
        end.record(kit.other);
        expect_outlasted(end, last);
        return elapsed(begin, end);
      },
      most);
}

}  // namespace

std::vector<base::Seconds> timed(const HostCopy& s, Kit& kit, base::Seconds most) {
  Copies copies(s, kit);
  if (s.beside_matmul) return beside_matmuls(copies, kit, most);
  return repeated(
      [&] {
        const Event begin(Event::Kind::timing), end(Event::Kind::timing);
        begin.record(kit.stream);
        copies.run(kit.stream);
        end.record(kit.stream);
        end.synchronize();
        return elapsed(begin, end);
      },
      most);
}

}  // namespace real
