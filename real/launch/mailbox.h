// real/launch/mailbox.h -- the messages that have reached a rank and were not asked for yet.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "real/launch/deadline.h"

namespace real {

using Blob = std::vector<std::byte>;
/// Keeps apart what different groups or streams send between the same two ranks.
using Channel = std::uint32_t;

class Mailbox {
 public:
  explicit Mailbox(int world) : closed_(static_cast<std::size_t>(world)) {}

  void post(int from, Channel channel, Blob message);
  /// Nothing more will come from this rank.
  void close(int from);
  bool closed(int from) const;

  /// The oldest message of `from` on `channel`, waiting for it until `until`; nothing when none came, at once when none
  /// can come any more.
  std::optional<Blob> take(int from, Channel channel, Deadline until);

 private:
  mutable std::mutex guard_;
  std::condition_variable changed_;
  std::map<std::pair<int, Channel>, std::deque<Blob>> messages_;
  std::vector<char> closed_;  // by rank
};

}  // namespace real
