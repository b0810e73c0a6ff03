// tests/emulated_gpu/libraries/meeting.h -- where the ranks of a communicator meet: what each brings to a collective,
// in the order in which it was called, and what one sends another. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nccl.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <tuple>
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

class Meeting {
 public:
  explicit Meeting(int ranks) : ranks_(ranks) {}
  int ranks() const { return ranks_; }
  /// Whoever asks from now on is told that another rank has failed.
  void break_up(const std::string& why);

  /// Throws Fault where the ranks call different things.
  void bring(int rank, const Call&, Bytes);
  /// What the rank gets when all that it needs has been brought; it asks no more then. A sender waits for who
  /// receives, as NCCL does with what does not fit its buffers.
  std::optional<Bytes> result(int rank, const Call&);

  /// Blocks until all ranks have come with a color (or none) and a key: the meeting of this rank's color, and its rank
  /// there. Throws Fault when one does not come.
  struct Split {
    std::shared_ptr<Meeting> meeting;
    int rank = 0;
  };
  Split split(int rank, std::uint64_t number, int color, int key);

 private:
  struct Collective {
    Call first;
    std::vector<std::optional<Bytes>> brought;
    int left = 0;
  };
  struct Message {
    Call call;
    Bytes bytes;
    bool taken = false;
  };
  struct Place {
    int color, key, rank;
  };
  struct Splitting {
    std::vector<Place> places;
    std::map<int, std::shared_ptr<Meeting>> meetings;
  };

  int ranks_;
  std::mutex guard_;
  std::string broken_;
  std::map<std::uint64_t, Collective> collectives_;
  std::map<std::tuple<int, int, std::uint64_t>, Message> messages_;  // from, to, number
  std::map<std::uint64_t, Splitting> splits_;
};

}  // namespace emulated_gpu
