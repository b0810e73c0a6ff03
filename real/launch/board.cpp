// SPDX-License-Identifier: Apache-2.0
#include "real/launch/board.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/base/text.h"

namespace real {
namespace {

/// "1, 3, 7 to 12"
std::string listed(const std::vector<int>& ranks) {
  std::string out;
  for (std::size_t first = 0; first < ranks.size();) {
    std::size_t last = first;
    while (last + 1 < ranks.size() && ranks[last + 1] == ranks[last] + 1) ++last;
    const bool span = last >= first + 2;
    if (!span) last = first;
    out += (out.empty() ? "" : ", ") + std::to_string(ranks[first]);
    if (span) out += " to " + std::to_string(ranks[last]);
    first = last + 1;
  }
  return out;
}

}  // namespace

const std::string* Board::find(const std::string& key) const {
  const auto found = values_.find(key);
  return found == values_.end() ? nullptr : &found->second;
}

int Board::arrive(const std::string& barrier, int rank) {
  Barrier& at = barriers_[barrier];
  at.here.resize(gone_.size());
  const int use = at.uses;
  at.here[static_cast<std::size_t>(rank)] = 1;
  if (std::ranges::all_of(at.here, [](char here) { return here != 0; })) {
    std::ranges::fill(at.here, 0);
    ++at.uses;
  }
  return use;
}

bool Board::over(const std::string& barrier, int use) const {
  const auto at = barriers_.find(barrier);
  return at != barriers_.end() && at->second.uses > use;
}

std::string Board::missing(const std::string& barrier) const {
  std::vector<int> absent;
  const auto at = barriers_.find(barrier);
  for (int rank = 0; rank < world(); ++rank) {
    if (at == barriers_.end() || !at->second.here[static_cast<std::size_t>(rank)]) absent.push_back(rank);
  }
  const std::string where = barrier == kJoin ? "" : fmt::format(" to '{}'", barrier);
  return fmt::format("only {} of {} ranks came{}: missing {}", world() - static_cast<int>(absent.size()), world(),
                     where, listed(absent));
}

bool Board::all_left() const {
  return std::ranges::all_of(gone_, [](char gone) { return gone != 0; });
}

void Board::lose(int rank, const std::string& who) {
  if (!left(rank)) fail(fmt::format("rank {} ({}) ended before the others", rank, who));
}

void Board::fail(const std::string& why) {
  if (!failure_) failure_ = why;
}

std::string gave_up(int rank, const std::string& reason) { return fmt::format("rank {} gave up: {}", rank, reason); }

std::string nobody_set(const std::string& key, base::Seconds patience) {
  return fmt::format("nobody set '{}' within {}", key, base::human(patience));
}

}  // namespace real
