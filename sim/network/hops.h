// sim/network/hops.h -- the groups of an axis as runs of members in one island, and who of a group sends to whom.
//
//   ring        each island sends its share 1 to the next
//   tree        two trees that each carry half of the buffer up and down; interior nodes of one are leaves of the other
//   all_to_all  each island sends to every other by the product of their members
// Source of the two trees: Sanders, Speck, Traff, "Two-tree algorithms for full bandwidth broadcast, reduction and
// scan", Parallel Computing 35(12), 2009.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "core/plan/work.h"
#include "core/spec/cluster.h"
#include "sim/network/path.h"

namespace sim {

/// Consecutive members of a group that share an island.
struct Run {
  int first = 0, stride = 1, size = 0;
  int member(std::size_t i) const { return first + static_cast<int>(i % static_cast<std::size_t>(size)) * stride; }
};

/// Of the group whose first member is rank `first`, in order.
std::vector<Run> runs_of(int first, const plan::GroupShape&, int island);

/// Ranks whose groups tell all: one period of groups and switches where it divides the whole, or all where `uneven`
/// (no two switches are alike).
int ranks_to_look_at(const plan::Layout&, const spec::Cluster&, bool uneven);
/// The same where only islands of so many GPUs repeat.
int ranks_to_look_at(const plan::Layout&, std::int64_t period);

/// Calls visit(rank) with the first member of every group that begins and ends among the first `ranks`.
template <class Visit>
void for_each_group(const plan::GroupShape& group, int ranks, Visit visit) {
  const plan::Layout& layout = group.layout;
  for (int block = 0; block < ranks; block += layout.block) {
    const int begin = block + layout.offset;
    for (int first = begin; first < std::min(begin + layout.starts, ranks); ++first) {
      if (std::int64_t{first} + std::int64_t{group.size - 1} * layout.stride < ranks) visit(first);
    }
  }
}

/// Parent of a place in a binary tree over `size` places in order; the root, place 0, has none (-1).
int parent_in_tree(int place, int size);

/// Calls visit(from, to, volume) with places in `runs`. REQUIRES: ring, tree or all_to_all; at least two runs.
template <class Visit>
void for_each_hop(Pattern pattern, const std::vector<Run>& runs, Visit visit) {
  const std::size_t size = runs.size();
  switch (pattern) {
    case Pattern::ring:
      for (std::size_t i = 0; i < size; ++i) visit(i, (i + 1) % size, 1.0);
      return;
    case Pattern::all_to_all:
      for (std::size_t from = 0; from < size; ++from) {
        for (std::size_t to = 0; to < size; ++to) {
          if (from != to) visit(from, to, static_cast<double>(runs[from].size) * runs[to].size);
        }
      }
      return;
    case Pattern::tree:
      for (std::size_t place = 1; place < size; ++place) {
        const auto parent = static_cast<std::size_t>(parent_in_tree(static_cast<int>(place), static_cast<int>(size)));
        // The other tree mirrors the places (or shifts an odd number of them): its leaves are this one's interior.
        const auto other = [size](std::size_t p) { return size % 2 == 0 ? size - 1 - p : (p + 1) % size; };
        visit(place, parent, 0.5);
        visit(parent, place, 0.5);
        visit(other(place), other(parent), 0.5);
        visit(other(parent), other(place), 0.5);
      }
      return;
    case Pattern::shift:
    case Pattern::send: assert(false);  // hops of members, not of islands
  }
}

/// Calls visit(source, target) with ranks in different islands: each member to the next, or the first of a pair to the
/// second. REQUIRES: shift or send.
template <class Visit>
void for_each_member_hop(Pattern pattern, int first, const plan::GroupShape& group, int island, Visit visit) {
  for (int i = 0; i < (pattern == Pattern::send ? 1 : group.size); ++i) {
    const int from = first + i * group.layout.stride, to = first + (i + 1) % group.size * group.layout.stride;
    if (from / island != to / island) visit(from, to);
  }
}

}  // namespace sim
