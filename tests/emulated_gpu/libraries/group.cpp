// tests/emulated_gpu/libraries/group.cpp -- see group.h. SPDX-License-Identifier: Apache-2.0
#include "tests/emulated_gpu/libraries/group.h"

#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>

#include "tests/emulated_gpu/block.h"
#include "tests/emulated_gpu/memory.h"

namespace emulated_gpu {
namespace {

class Group final : public Work {
 public:
  Group(std::shared_ptr<Member> member, std::vector<Call> calls)
      : member_(std::move(member)), turn_(member_->given++), calls_(std::move(calls)), done_(calls_.size()) {
    for (Call& call : calls_) {
      switch (call.kind) {
        case Kind::send: call.number = member_->sent[call.peer]++; break;
        case Kind::receive: call.number = member_->received[call.peer]++; break;
        default: call.number = member_->collectives++;
      }
    }
  }

  Progress go_on() override {
    try {
      return take_part();
    } catch (const Fault& fault) {
      member_->meeting->break_up(fault.what());
      throw;
    }
  }

  std::string text() const override {
    std::string text;
    for (std::size_t i = 0; i < calls_.size(); ++i) {
      if (!done_[i]) text += (text.empty() ? "" : " and ") + text_of(calls_[i]);
    }
    return text + " of rank " + std::to_string(member_->rank) + " of " + std::to_string(ranks());
  }

 private:
  Progress take_part() {
    if (member_->aborted) return Progress::done;
    if (member_->done != turn_ || std::getenv("FORERUN_EMULATED_DEAF") != nullptr) return Progress::waits;
    if (!begun_) {
      begin();
      return Progress::went_on;
    }
    bool moved = false, all = true;
    for (std::size_t i = 0; i < calls_.size(); ++i) {
      if (!done_[i]) moved = (done_[i] = end(calls_[i])) || moved;
      all = all && done_[i];
    }
    if (!all) return moved ? Progress::went_on : Progress::waits;
    ++member_->done;
    return Progress::done;
  }

  int ranks() const { return member_->meeting->ranks(); }
  int gpu() const { return member_->device->index(); }
  std::size_t in(const Call& call) const { return bytes_from(call, member_->rank, ranks()); }
  std::size_t out(const Call& call) const { return bytes_to(call, member_->rank, ranks()); }
  Bytes read(const Call& call) const {
    const auto* const first = static_cast<const std::byte*>(call.from);
    return {first, first + in(call)};
  }

  void begin() {
    begun_ = true;
    for (const Call& call : calls_) {
      expect_within(call.from, in(call), gpu(), "what a collective reads");
      expect_within(call.to, out(call), gpu(), "what a collective writes");
      member_->meeting->bring(member_->rank, call, read(call));
      read_.push_back(read(call));
    }
    for (const Call& call : calls_) {
      if (out(call) > 0) std::memset(call.to, 0xff, out(call));
    }
  }

  bool end(const Call& call) {
    const std::optional<Bytes> result = member_->meeting->result(member_->rank, call);
    if (!result) return false;
    const Bytes& before = read_[static_cast<std::size_t>(&call - calls_.data())];
    const auto *const from = static_cast<const std::byte*>(call.from), *const to = static_cast<std::byte*>(call.to);
    const auto is_written = [&](const std::byte* at) { return at >= to && at < to + out(call); };
    for (std::size_t i = 0; i < before.size(); ++i) {
      if (!is_written(from + i) && from[i] != before[i])
        throw Fault("what a collective reads was written while it ran");
    }
    for (std::size_t i = 0; i < out(call); ++i) {
      if (to[i] != std::byte{0xff}) throw Fault("what a collective writes was written by another while it ran");
    }
    if (!result->empty()) std::memcpy(call.to, result->data(), result->size());
    return true;
  }

  std::shared_ptr<Member> member_;
  std::uint64_t turn_;
  std::vector<Call> calls_;
  std::vector<Bytes> read_;
  std::vector<bool> done_;
  bool begun_ = false;
};

}  // namespace

Make group_of(const std::shared_ptr<Member>& member, const std::vector<Call>& calls) {
  return [=] { return std::make_unique<Group>(member, calls); };
}

}  // namespace emulated_gpu
