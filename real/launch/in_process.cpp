// real/launch/in_process.cpp -- ranks that are threads of one process: a store and channels in memory. Used by tests
// and wherever a small model runs on one machine's cores. SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <cassert>
#include <condition_variable>
#include <mutex>
#include <optional>

#include "core/base/fault.h"
#include "real/launch/board.h"
#include "real/launch/deadline.h"
#include "real/launch/world.h"

namespace real {
namespace {

struct Shared {
  explicit Shared(int world) : board(world), mailboxes(static_cast<std::size_t>(world)) {}
  std::mutex guard;
  std::condition_variable changed;
  Board board;
  std::vector<Mailbox*> mailboxes;  // by rank; null before and after its transport's life
};

class MemoryStore final : public Store {
 public:
  MemoryStore(int rank, std::shared_ptr<Shared> shared) : rank_(rank), shared_(std::move(shared)) {}
  ~MemoryStore() override {
    change([&](Board& board) { board.lose(rank_, "a thread"); });
  }

  int rank() const override { return rank_; }
  int world() const override { return shared_->board.world(); }

  void set(const std::string& key, const std::string& value) override {
    check();
    change([&](Board& board) { board.set(key, value); });
  }
  std::string get(const std::string& key, base::Seconds patience) override {
    std::string value;
    const auto is_set = [&](const Board& board) {
      const std::string* found = board.find(key);
      if (found) value = *found;
      return found != nullptr;
    };
    if (!wait_for(is_set, patience)) throw base::DeviceError(nobody_set(key, patience));
    return value;
  }
  void barrier(const std::string& name, base::Seconds patience) override { pass(name, false, patience); }
  void abort(const std::string& reason) noexcept override {
    change([&](Board& board) { board.fail(gave_up(rank_, reason)); });
  }
  void leave(base::Seconds patience) override { pass(kLeave, true, patience); }
  void check() override {
    const std::lock_guard lock(shared_->guard);
    if (shared_->board.failure()) throw base::DeviceError(*shared_->board.failure());
  }

 private:
  template <class Change>
  void change(Change change) {
    {
      const std::lock_guard lock(shared_->guard);
      change(shared_->board);
    }
    shared_->changed.notify_all();
  }
  void pass(const std::string& barrier, bool leaves, base::Seconds patience) {
    check();
    int use = 0;
    change([&](Board& board) {
      use = board.arrive(barrier, rank_);
      if (leaves) board.leave(rank_);
    });
    if (wait_for([&](const Board& board) { return board.over(barrier, use); }, patience)) return;
    const std::lock_guard lock(shared_->guard);
    throw base::DeviceError(shared_->board.missing(barrier));
  }
  /// False when the deadline passed. Throws when a rank was lost or gave up, whatever else holds: a failure is the
  /// same to all.
  template <class Condition>
  bool wait_for(Condition condition, base::Seconds patience) {
    std::unique_lock lock(shared_->guard);
    bool holds = false;
    shared_->changed.wait_until(lock, Deadline::in(patience).end(), [&] {
      holds = condition(shared_->board);
      return holds || shared_->board.failure();
    });
    if (shared_->board.failure()) throw base::DeviceError(*shared_->board.failure());
    return holds;
  }

  int rank_;
  std::shared_ptr<Shared> shared_;
};

class MemoryTransport final : public Transport {
 public:
  MemoryTransport(Store& store, std::shared_ptr<Shared> shared) : Transport(store), shared_(std::move(shared)) {
    announce(&mailbox_);
  }
  ~MemoryTransport() override { announce(nullptr); }

  void send(int to, Channel channel, std::span<const std::byte> bytes) override {
    assert(to >= 0 && to < world());
    Blob message(bytes.begin(), bytes.end());
    const std::lock_guard lock(shared_->guard);
    Mailbox* const box = shared_->mailboxes[static_cast<std::size_t>(to)];
    if (box) box->post(rank(), channel, std::move(message));  // else the store tells why it has gone
  }

 private:
  void announce(Mailbox* box) {
    const std::lock_guard lock(shared_->guard);
    shared_->mailboxes[static_cast<std::size_t>(rank())] = box;
  }
  std::shared_ptr<Shared> shared_;
};

}  // namespace

std::vector<World> in_process(int ranks, const Patience& patience) {
  assert(ranks > 0);
  const auto shared = std::make_shared<Shared>(ranks);
  std::vector<World> out;
  for (int rank = 0; rank < ranks; ++rank) {
    World world;
    world.identity = {.rank = rank, .world = ranks, .local_rank = rank, .local_world = ranks, .launcher = "threads"};
    world.patience = patience;
    world.store = std::make_unique<MemoryStore>(rank, shared);
    world.transport = std::make_unique<MemoryTransport>(*world.store, shared);
    out.push_back(std::move(world));
  }
  return out;
}

}  // namespace real
