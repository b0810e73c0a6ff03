// tests/emulated_gpu/libraries/threads.cpp -- a meeting of ranks that are threads of one process.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <mutex>
#include <set>
#include <tuple>
#include <utility>

#include "tests/emulated_gpu/block.h"
#include "tests/emulated_gpu/libraries/meeting.h"

namespace emulated_gpu {
namespace {

class Threads final : public Meeting {
 public:
  using Meeting::Meeting;

  void break_up(const std::string& why) override {
    const std::lock_guard lock(guard_);
    if (broken_.empty()) broken_ = why;
  }

  void bring(int rank, const Call& call, Bytes bytes) override {
    const std::lock_guard lock(guard_);
    if (!broken_.empty()) throw Fault(broken_);
    if (call.kind == Kind::receive) return;
    if (call.kind == Kind::send) {
      messages_[{rank, call.peer, call.number}] = {call, std::move(bytes), false};
      return;
    }
    Collective& all = collectives_[call.number];
    if (all.here == 0) {
      all.first = call;
      all.brought.resize(static_cast<std::size_t>(ranks()));
    }
    expect_same(all.first, call);
    all.brought[static_cast<std::size_t>(rank)] = std::move(bytes);
    ++all.here;
  }

  std::optional<Bytes> result(int rank, const Call& call) override {
    const std::lock_guard lock(guard_);
    if (!broken_.empty()) throw Fault(broken_);
    if (call.kind == Kind::send) return sent(rank, call);
    if (call.kind == Kind::receive) return received(rank, call);
    const auto found = collectives_.find(call.number);
    Collective& all = found->second;
    if (all.here < ranks()) return std::nullopt;
    Bytes out = result_of(call, rank, all.brought);
    if (++all.left == ranks()) collectives_.erase(found);
    return out;
  }

  void call_first(const Side& side) override {
    const std::lock_guard lock(guard_);
    called_.insert(side);
  }
  bool has_called(const Side& side) override {
    const std::lock_guard lock(guard_);
    if (!broken_.empty()) throw Fault(broken_);
    return called_.contains(side);
  }

 private:
  struct Collective {
    Call first;
    std::vector<Bytes> brought;  // by rank
    int here = 0, left = 0;
  };
  struct Message {
    Call call;
    Bytes bytes;
    bool taken = false;
  };
  struct Splitting {
    std::vector<Place> places;
    std::map<int, std::shared_ptr<Meeting>> parts;  // by color
  };

  std::optional<Bytes> sent(int rank, const Call& call) {
    const auto found = messages_.find({rank, call.peer, call.number});
    if (!found->second.taken) return std::nullopt;
    messages_.erase(found);
    return Bytes{};
  }
  std::optional<Bytes> received(int rank, const Call& call) {
    const auto found = messages_.find({call.peer, rank, call.number});
    if (found == messages_.end() || found->second.taken) return std::nullopt;
    Message& message = found->second;
    expect_fits(message.call, call);
    message.taken = true;
    return std::move(message.bytes);
  }

  void come(std::uint64_t number, const Place& place) override {
    const std::lock_guard lock(guard_);
    splits_[number].places.push_back(place);
  }
  std::vector<Place> places(std::uint64_t number) override {
    const std::lock_guard lock(guard_);
    return splits_[number].places;
  }
  std::shared_ptr<Meeting> part(std::uint64_t number, int color, int ranks) override {
    const std::lock_guard lock(guard_);
    std::shared_ptr<Meeting>& found = splits_[number].parts[color];
    if (!found) found = meeting_of_threads(ranks);
    return found;
  }

  std::mutex guard_;
  std::string broken_;
  std::map<std::uint64_t, Collective> collectives_;
  std::map<std::tuple<int, int, std::uint64_t>, Message> messages_;  // from, to, number
  std::map<std::uint64_t, Splitting> splits_;
  std::set<Side> called_;
};

}  // namespace

std::shared_ptr<Meeting> meeting_of_threads(int ranks) { return std::make_shared<Threads>(ranks); }

}  // namespace emulated_gpu
