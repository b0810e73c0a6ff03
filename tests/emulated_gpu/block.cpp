// tests/emulated_gpu/block.cpp -- see block.h. Each thread of a block has a stack of its own, among which one thread of
// the CPU changes. SPDX-License-Identifier: Apache-2.0
#include "tests/emulated_gpu/block.h"

#include <fmt/format.h>
#include <ucontext.h>

#include <algorithm>
#include <cstdlib>
#include <exception>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace emulated_gpu {
namespace {

constexpr std::size_t kStack = 64 << 10;
constexpr unsigned kMostThreads = 1024, kMostRows = 65535;  // CUDA programming guide, table of technical specifications

enum class State { ready, at_block_barrier, at_warp_barrier, left };

/// Of GCC's own, which keep nothing but where to go on: those of the C library take three times as long.
using Jump = void* [5];

/// A stack, which serves one thread of each block after the other, of one kernel after the other: setting one up calls
/// the kernel of the operating system.
struct Fiber {
  std::unique_ptr<char[]> stack = std::make_unique_for_overwrite<char[]>(kStack);
  Jump stopped_at;
  bool begun = false;
};

struct Thread {
  uint3 index;
  State state = State::left;
  std::source_location waits_at;
  unsigned mask = 0;
  std::uint64_t word = 0;
  bool vote = false;
  const Said* heard = nullptr;
  Said own;  // heard by a part of the warp
  int votes = 0;
};

/// Bits of its lanes; what all of them have heard, the last time and the one before: nobody says more before all have
/// read the last.
struct Warp {
  unsigned waiting = 0, left = 0;
  std::array<Said, 2> said;
  unsigned times = 0;
};

std::string line_of(const std::source_location& at) { return fmt::format("{}:{}", at.file_name(), at.line()); }

bool same_line(const std::source_location& a, const std::source_location& b) {
  if (a.line() != b.line() || a.column() != b.column()) return false;
  return a.file_name() == b.file_name() || std::string_view(a.file_name()) == b.file_name();
}

uint3 place_of(std::size_t number, dim3 size) {
  const auto at = static_cast<unsigned>(number);
  return {at % size.x, at / size.x % size.y, at / size.x / size.y};
}

/// Indices 0 to count - 1 in the order asked for.
class Turns {
 public:
  Turns(Order order, std::size_t count) : order_(order), indices_(count) {
    std::iota(indices_.begin(), indices_.end(), std::size_t{0});
    if (order == Order::descending) std::reverse(indices_.begin(), indices_.end());
  }
  /// Another order each time where they are shuffled, the same ones in each run of the program.
  const std::vector<std::size_t>& next() {
    if (order_ == Order::shuffled) std::shuffle(indices_.begin(), indices_.end(), random_);
    return indices_;
  }

 private:
  Order order_;
  std::vector<std::size_t> indices_;
  std::minstd_rand random_;
};

class Block {
 public:
  Block(dim3 threads, Order order)
      : threads_(threads),
        lanes_(std::size_t{threads.x} * threads.y * threads.z),
        warps_((lanes_.size() + kWarp - 1) / kWarp),
        warp_turns_(order, warps_.size()),
        lane_turns_(order, kWarp) {
    for (std::size_t i = 0; i < lanes_.size(); ++i) lanes_[i].index = place_of(i, threads);
    while (fibers_.size() < lanes_.size()) fibers_.push_back(std::make_unique<Fiber>());
  }

  void run(uint3 index, dim3 blocks, const std::function<void()>& kernel);

  void wait_for_block(bool vote, const std::source_location& at);
  void wait_for_lanes(unsigned mask, std::uint64_t word, const std::source_location& at);
  const Thread& running() const { return lanes_[running_]; }
  /// What threads have on their stacks is dropped.
  static void drop() {
    for (const auto& fiber : fibers_) fiber->begun = false;
  }

 private:
  static void enter();
  void run_warp(std::size_t warp);
  void begin(std::size_t thread);
  void resume(std::size_t thread);
  void pause(State);
  void release_block();
  void release_lanes(std::size_t warp, unsigned mask);
  std::string who_waits() const;

  dim3 threads_;
  std::vector<Thread> lanes_;
  std::vector<Warp> warps_;
  Turns warp_turns_, lane_turns_;
  std::size_t running_ = 0, ready_ = 0, left_ = 0;
  const std::function<void()>* kernel_ = nullptr;
  Jump scheduler_;
  std::exception_ptr failure_;
  static thread_local std::vector<std::unique_ptr<Fiber>> fibers_;
};
thread_local std::vector<std::unique_ptr<Fiber>> Block::fibers_;
thread_local Block* current = nullptr;

void Block::enter() {
  while (true) {
    try {
      (*current->kernel_)();
    } catch (...) {
      current->failure_ = std::current_exception();
    }
    current->pause(State::left);
  }
}

/// Jumps change stacks without a call of the kernel of the operating system, which setcontext() makes each time.
void Block::begin(std::size_t thread) {
  Fiber& fiber = *fibers_[thread];
  fiber.begun = true;
  ucontext_t context;
  getcontext(&context);
  context.uc_stack.ss_sp = fiber.stack.get();
  context.uc_stack.ss_size = kStack;
  context.uc_link = nullptr;
  makecontext(&context, &Block::enter, 0);
  setcontext(&context);
}

void Block::resume(std::size_t thread) {
  running_ = thread;
  here.thread = lanes_[thread].index;
  here.lane = static_cast<unsigned>(thread % kWarp);
  if (__builtin_setjmp(scheduler_) == 0) {
    if (!fibers_[thread]->begun) begin(thread);
    __builtin_longjmp(fibers_[thread]->stopped_at, 1);
  }
  if (failure_) std::rethrow_exception(failure_);
}

void Block::pause(State state) {
  Thread& thread = lanes_[running_];
  Warp& warp = warps_[running_ / kWarp];
  thread.state = state;
  --ready_;
  if (state == State::left) ++left_, warp.left |= 1u << here.lane;
  if (__builtin_setjmp(fibers_[running_]->stopped_at) == 0) __builtin_longjmp(scheduler_, 1);
}

void Block::run(uint3 index, dim3 blocks, const std::function<void()>& kernel) {
  kernel_ = &kernel;
  here = {{}, index, threads_, blocks, 0};
  ready_ = lanes_.size();
  left_ = 0;
  for (Warp& warp : warps_) warp.waiting = warp.left = 0;
  if (const std::size_t last = lanes_.size() % kWarp) warps_.back().left = ~0u << last;
  for (Thread& thread : lanes_) thread.state = State::ready;
  while (left_ < lanes_.size()) {
    if (ready_ == 0) release_block();
    for (std::size_t warp : warp_turns_.next()) run_warp(warp);
  }
}

/// As far as it comes without the block's other warps, which finds more than a step of each would: one may be a whole
/// reduction ahead of another.
void Block::run_warp(std::size_t warp) {
  bool goes_on = true;
  while (goes_on) {
    goes_on = false;
    for (std::size_t lane : lane_turns_.next()) {
      const std::size_t thread = warp * kWarp + lane;
      if (thread >= lanes_.size() || lanes_[thread].state != State::ready) continue;
      resume(thread);
      goes_on = true;
    }
  }
}

/// Nobody can go on: all who have not left wait for the block, or it is a fault.
void Block::release_block() {
  const Thread* first = nullptr;
  int votes = 0;
  for (const Thread& thread : lanes_) {
    if (thread.state == State::left) continue;
    if (thread.state != State::at_block_barrier) throw Fault("threads wait for ever: " + who_waits());
    if (first && !same_line(thread.waits_at, first->waits_at)) {
      throw Fault("threads of a block wait at different barriers: " + who_waits());
    }
    first = &thread;
    votes += thread.vote;
  }
  for (Thread& thread : lanes_) {
    if (thread.state == State::left) continue;
    thread.votes = votes;
    thread.state = State::ready;
    ++ready_;
  }
}

void Block::wait_for_block(bool vote, const std::source_location& at) {
  Thread& thread = lanes_[running_];
  thread.vote = vote;
  thread.waits_at = at;
  pause(State::at_block_barrier);
}

void Block::wait_for_lanes(unsigned mask, std::uint64_t word, const std::source_location& at) {
  Thread& thread = lanes_[running_];
  Warp& warp = warps_[running_ / kWarp];
  const unsigned self = 1u << here.lane;
  if (!(mask & self)) throw Fault(line_of(at) + ": a lane waits for a mask that it is not in");
  if (mask & warp.left) throw Fault(line_of(at) + ": waits for a lane that has left");
  thread.mask = mask;
  thread.word = word;
  thread.waits_at = at;
  warp.waiting |= self;
  if ((mask & warp.waiting) == mask) {
    release_lanes(running_ / kWarp, mask);
  } else {
    pause(State::at_warp_barrier);
  }
}

/// The last of the mask's lanes has come: each hears the others and may go on.
void Block::release_lanes(std::size_t warp, unsigned mask) {
  const Thread& caller = lanes_[running_];
  const bool all = mask == ~0u;
  Said of_some;
  Said& words = all ? warps_[warp].said[++warps_[warp].times % 2] : of_some;
  for (unsigned lane = 0; lane < kWarp; ++lane) {
    words[lane] = 0;
    if (!(mask >> lane & 1)) continue;
    const Thread& thread = lanes_[warp * kWarp + lane];
    if (thread.mask != mask || !same_line(thread.waits_at, caller.waits_at)) {
      throw Fault("lanes of a warp wait for different things: " + who_waits());
    }
    words[lane] = thread.word;
  }
  for (unsigned lane = 0; lane < kWarp; ++lane) {
    if (!(mask >> lane & 1)) continue;
    Thread& thread = lanes_[warp * kWarp + lane];
    if (!all) thread.own = words;
    thread.heard = all ? &words : &thread.own;
    if (thread.state == State::at_warp_barrier) ++ready_;
    thread.state = State::ready;
  }
  warps_[warp].waiting &= ~mask;
}

std::string Block::who_waits() const {
  std::string text;
  for (std::size_t i = 0; i < lanes_.size(); ++i) {
    const Thread& thread = lanes_[i];
    const bool waits = thread.state == State::at_block_barrier || thread.state == State::at_warp_barrier;
    const bool told = waits && i > 0 && lanes_[i - 1].state == thread.state &&
                      same_line(thread.waits_at, lanes_[i - 1].waits_at) && lanes_[i - 1].mask == thread.mask;
    if (waits && !told) {
      text += fmt::format("{}from thread {} on at {}", text.empty() ? "" : ", ", i, line_of(thread.waits_at));
    }
  }
  return text;
}

}  // namespace

Order order_named(std::string_view name) {
  if (name == "ascending") return Order::ascending;
  if (name == "descending") return Order::descending;
  if (name == "shuffled") return Order::shuffled;
  throw Fault(fmt::format("FORERUN_EMULATED_ORDER={}: ascending, descending or shuffled", name));
}

Order order() {
  const char* name = std::getenv("FORERUN_EMULATED_ORDER");
  return name ? order_named(name) : Order::ascending;
}

void run_grid(dim3 blocks, dim3 threads, const std::function<void()>& kernel, Order order) {
  const std::size_t count = std::size_t{threads.x} * threads.y * threads.z;
  if (count == 0 || count > kMostThreads) throw Fault(fmt::format("a block of {} threads", count));
  if (blocks.x == 0 || blocks.y == 0 || blocks.z == 0 || blocks.x > 0x7fffffffu || blocks.y > kMostRows ||
      blocks.z > kMostRows) {
    throw Fault(fmt::format("a grid of {} x {} x {} blocks", blocks.x, blocks.y, blocks.z));
  }
  Block block(threads, order);
  Block* const outer = std::exchange(current, &block);
  try {
    Turns turns(order, std::size_t{blocks.x} * blocks.y * blocks.z);
    for (std::size_t i : turns.next()) block.run(place_of(i, blocks), blocks, kernel);
  } catch (...) {
    Block::drop();
    current = outer;
    throw;
  }
  current = outer;
}

bool in_a_kernel() { return current != nullptr; }
std::string who_runs() {
  const auto [x, y, z] = here.thread;
  const uint3& block = here.block;
  return fmt::format("thread {}, {}, {} of block {}, {}, {}", x, y, z, block.x, block.y, block.z);
}

int wait_for_block(bool vote, std::source_location at) {
  current->wait_for_block(vote, at);
  return current->running().votes;
}

const Said& wait_for_lanes(unsigned mask, std::uint64_t word, std::source_location at) {
  current->wait_for_lanes(mask, word, at);
  return *current->running().heard;
}

}  // namespace emulated_gpu
