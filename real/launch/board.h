// real/launch/board.h -- what a store knows: values, who has come to which barrier, who was lost. No threads, no
// sockets. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/base/units.h"

namespace real {

class Board {
 public:
  explicit Board(int world) : gone_(static_cast<std::size_t>(world)) {}

  int world() const { return static_cast<int>(gone_.size()); }

  void set(const std::string& key, std::string value) { values_[key] = std::move(value); }
  const std::string* find(const std::string& key) const;

  /// Notes that `rank` has come; returns which use of the name this is. Over once all have come, when the next use
  /// begins.
  int arrive(const std::string& barrier, int rank);
  bool over(const std::string& barrier, int use) const;
  /// "only 2 of 4 ranks came to 'start': missing 1, 3"; `barrier` kJoin has no name in it.
  std::string missing(const std::string& barrier) const;

  /// `rank` has left in good order; its end is none of a failure's.
  void leave(int rank) { gone_[static_cast<std::size_t>(rank)] = 1; }
  bool left(int rank) const { return gone_[static_cast<std::size_t>(rank)] != 0; }
  bool all_left() const;
  /// "rank 2 (node7, process 4711) ended before the others", unless it has left.
  void lose(int rank, const std::string& who);
  /// The first failure stays; those that follow are its consequences.
  void fail(const std::string& why);
  const std::optional<std::string>& failure() const { return failure_; }

 private:
  struct Barrier {
    std::vector<char> here;  // by rank
    int uses = 0;            // that are over
  };
  std::map<std::string, std::string> values_;
  std::map<std::string, Barrier> barriers_;
  std::vector<char> gone_;  // by rank
  std::optional<std::string> failure_;
};

/// The barriers at which a run begins and ends.
inline const std::string kJoin = "join";
inline constexpr const char* kJoinVariable = "FORERUN_JOIN_SECONDS";  // how long ranks are waited for (world.h)
inline const std::string kLeave = "leave";

/// "rank 2 gave up: out of memory"
std::string gave_up(int rank, const std::string& reason);
/// "nobody set 'nccl-id' within 60 s"
std::string nobody_set(const std::string& key, base::Seconds patience);

}  // namespace real
