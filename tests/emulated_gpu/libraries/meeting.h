// tests/emulated_gpu/libraries/meeting.h -- where the ranks of a communicator meet: what each brings to a collective,
// in the order in which it was called, and what one sends another. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nccl.h>

#include <compare>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace emulated_gpu {

enum class Kind { all_reduce, broadcast, reduce, all_gather, reduce_scatter, send, receive };

struct Call {
  Kind kind;
  const void* from = nullptr;
  void* to = nullptr;
  std::size_t count = 0;
  ncclDataType_t type = ncclFloat;
  ncclRedOp_t sum = ncclSum;
  int peer = 0;              // or root
  std::uint64_t number = 0;  // of the collectives of its communicator, or of the messages between two
};

std::size_t bytes_of(ncclDataType_t type);
std::string text_of(const Call&);
/// Of what a rank reads and writes; who is not the root of a broadcast reads nothing, of a reduction writes nothing.
std::size_t bytes_from(const Call&, int rank, int ranks);
std::size_t bytes_to(const Call&, int rank, int ranks);

using Bytes = std::vector<std::byte>;

/// Throws Fault unless the ranks whose calls these are call the same collective.
void expect_same(const Call&, const Call&);
/// Throws Fault unless what one sends is what the other receives.
void expect_fits(const Call& sent, const Call& received);
/// What `rank` gets of a collective when `brought`, by rank, is all that they read.
Bytes result_of(const Call&, int rank, const std::vector<Bytes>& brought);

class Meeting {
 public:
  explicit Meeting(int ranks) : ranks_(ranks) {}
  virtual ~Meeting() = default;
  Meeting(const Meeting&) = delete;
  Meeting& operator=(const Meeting&) = delete;
  int ranks() const { return ranks_; }

  /// Whoever asks from now on is told that another rank has failed.
  virtual void break_up(const std::string& why) = 0;
  /// Throws Fault where the ranks call different things.
  virtual void bring(int rank, const Call&, Bytes) = 0;
  /// What the rank gets when all that it needs has been brought; it asks no more then. A sender waits for who
  /// receives, as NCCL does with what does not fit its buffers.
  virtual std::optional<Bytes> result(int rank, const Call&) = 0;

  /// Which side of the messages from one rank to another.
  struct Side {
    int from, to;
    Kind kind;
    auto operator<=>(const Side&) const = default;
    Side other() const { return {from, to, kind == Kind::send ? Kind::receive : Kind::send}; }
  };
  /// A rank has called its side for the first time; whether that side has been.
  virtual void call_first(const Side&) = 0;
  virtual bool has_called(const Side&) = 0;

  /// Blocks until all ranks have come. Throws Fault when one does not come.
  void join(int rank) { gather(0, {.color = 0, .key = 0, .rank = rank}); }
  /// As join(), with a color (or none) and a key: the meeting of this rank's color, and its rank there. `number` counts
  /// the splits of a rank from 1.
  struct Split {
    std::shared_ptr<Meeting> meeting;
    int rank = 0;
  };
  Split split(int rank, std::uint64_t number, int color, int key);
  /// The rank comes no more.
  virtual void leave(int /*rank*/) {}

 protected:
  struct Place {
    int color, key, rank;
  };
  /// One more has come; and all that have so far.
  virtual void come(std::uint64_t number, const Place&) = 0;
  virtual std::vector<Place> places(std::uint64_t number) = 0;
  virtual std::shared_ptr<Meeting> part(std::uint64_t number, int color, int ranks) = 0;

 private:
  std::vector<Place> gather(std::uint64_t number, const Place& own);

  int ranks_;
};

/// Where the ranks of communicator `id` of NCCL meet: threads of this process, or, in the folder
/// $FORERUN_EMULATED_MEETINGS, processes that have it in common.
std::shared_ptr<Meeting> world_of(const ncclUniqueId& id, int ranks);
/// An id that no other communicator has.
void make_id(ncclUniqueId& id);

/// Of ranks that are threads of one process.
std::shared_ptr<Meeting> meeting_of_threads(int ranks);
/// Of ranks that have `folder` in common, which exists while they meet.
std::shared_ptr<Meeting> meeting_of_processes(const std::string& folder, int ranks);

}  // namespace emulated_gpu
