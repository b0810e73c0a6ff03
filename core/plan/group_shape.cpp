// core/plan/group_shape.cpp -- see group_shape.h. Shapes repeat with the least common multiple of a block of groups and
// an island, so the general case counts one such period.
// SPDX-License-Identifier: Apache-2.0
#include "core/plan/group_shape.h"

#include <algorithm>
#include <cassert>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

namespace plan {
namespace {

// NVLink joins only parts of a node.
bool bridged(const spec::Node& node) { return node.nvlink.via != spec::Switch::none && node.nvlinked() < node.gpus; }

// How the worst group lies across equal parts of consecutive ranks.
struct Spread {
  int parts = 1;         // parts that it touches
  int fewest = 0;        // members in the part that has the fewest
  int most_sharing = 0;  // groups with members in the same part and beyond
};

Spread count(std::int64_t stride, std::int64_t size, std::int64_t part, std::int64_t total) {
  const std::int64_t span = stride * size;
  const std::int64_t end = std::min<std::int64_t>(total, std::lcm(span, part));
  Spread worst{.parts = 1, .fewest = static_cast<int>(size), .most_sharing = 0};
  std::vector<int> sharing(static_cast<std::size_t>((end + part - 1) / part), 0);
  for (std::int64_t block = 0; block < end; block += span) {
    for (std::int64_t offset = 0; offset < stride; ++offset) {
      const std::int64_t first = block + offset, last = first + (size - 1) * stride;
      if (last >= total) break;
      if (first / part == last / part) continue;
      int parts = 0;
      for (std::int64_t r = first; r <= last;) {
        const std::int64_t next_part = (r / part + 1) * part;
        const std::int64_t here = std::min((next_part - r + stride - 1) / stride, (last - r) / stride + 1);
        worst.fewest = std::min(worst.fewest, static_cast<int>(here));
        worst.most_sharing = std::max(worst.most_sharing, ++sharing[static_cast<std::size_t>(r / part)]);
        ++parts;
        r += here * stride;
      }
      worst.parts = std::max(worst.parts, parts);
    }
  }
  return worst;
}

Spread spread(std::int64_t stride, std::int64_t size, std::int64_t part, std::int64_t total) {
  const std::int64_t span = stride * size;
  if (part % span == 0 || total <= part) return {.parts = 1, .fewest = static_cast<int>(size), .most_sharing = 0};
  if (stride % part == 0) {
    const std::int64_t groups = std::min(stride, total - (size - 1) * stride);  // of the first block
    return {static_cast<int>(size), 1, static_cast<int>(std::min(part, groups))};
  }
  if (part % stride == 0 && span % part == 0 && total >= span) {
    return {static_cast<int>(span / part), static_cast<int>(part / stride), static_cast<int>(stride)};
  }
  return count(stride, size, part, total);
}

}  // namespace

GroupShape group_shape(int stride, int size, const spec::Cluster& cluster, int ranks_total) {
  assert(stride >= 1 && size >= 1 && static_cast<std::int64_t>(stride) * (size - 1) < ranks_total);
  if (size == 1) return {};
  const spec::Node& node = cluster.node;
  const Layout layout{stride, stride, stride * size, ranks_total};
  const Spread islands = spread(stride, size, node.island(), ranks_total);
  if (islands.parts > 1) return {size, islands.fewest, islands.parts, islands.most_sharing, layout};
  if (bridged(node)) {
    const Spread pieces = spread(stride, size, node.nvlink.domain, ranks_total);
    if (pieces.parts > 1) return {size, pieces.fewest, pieces.parts, 0, layout};
  }
  return {size, size, 1, 1, layout};
}

namespace {

/// Cards that several GPUs have in common; 0: none, each GPU has one near it.
int common_cards(const spec::Node& node) { return node.nic.count < node.gpus ? node.nic.count : 0; }

/// As many groups as leave an island with all of its cards where its fullest card has as many.
int crowded(int leaving, int on_a_card, const spec::Node& node) {
  return std::max(leaving, on_a_card * common_cards(node) * (node.island() / node.gpus));
}

/// GPUs of an island that leave it: how many, and on the card that has most of them.
class Leavers {
 public:
  explicit Leavers(const spec::Node& node) : node_(node), cards_(static_cast<std::size_t>(common_cards(node)), 0) {}

  void add(std::int64_t rank) {
    ++count_;
    if (cards_.empty()) return;
    const auto card = rank % node_.gpus * static_cast<std::int64_t>(cards_.size()) / node_.gpus;
    most_ = std::max(most_, ++cards_[static_cast<std::size_t>(card)]);
  }
  int sharing() const { return crowded(count_, most_, node_); }

 private:
  const spec::Node& node_;
  std::vector<int> cards_;  // of one node: neighbours of an island's nodes are taken as one's
  int count_ = 0, most_ = 0;
};

}  // namespace

Transfer stage_hop(int stride, const spec::Cluster& cluster, int ranks_total) {
  assert(stride >= 1);
  const spec::Node& node = cluster.node;
  const auto leaving = [&](int part) {  // the first part has a next one whenever any has, so it is the worst
    return std::min(part, ranks_total - stride) - std::max(0, part - stride);
  };
  const Layout layout{stride, ranks_total - stride, ranks_total, ranks_total};
  if (const int out = leaving(node.island()); out > 0) {  // neighbours, which fill a card before the next
    const int cards = common_cards(node), on_a_card = cards > 0 ? std::min(out, (node.gpus + cards - 1) / cards) : 0;
    return {0, true, crowded(out, on_a_card, node), layout};
  }
  if (bridged(node) && leaving(node.nvlink.domain) > 0) return {0, true, 0, layout};
  return {0, false, 1, layout};
}

namespace {

/// The most ranks of one part (of consecutive ranks) whose partner, `reach` ranks on, sits in another part, as they
/// share its cards. Those of the first `senders` ranks in each block of `block` have one.
int most_leaving(int reach, int senders, int block, int part, int total, const spec::Node& node) {
  const std::int64_t end = std::min<std::int64_t>(total, std::lcm<std::int64_t>(block, part));
  const bool leave_whole = reach >= part && part % node.gpus == 0;
  bool seen = false;  // a part of whole nodes all of which leave: others are alike
  int most = 0;
  for (std::int64_t first = 0; first < end; first += part) {
    const std::int64_t last = std::min<std::int64_t>(first + part, total);
    if (const std::int64_t at = first % block; at + last - first <= block) {
      const auto among = [&](std::int64_t begin) {
        return std::max<std::int64_t>(0, std::min(at + last - first, begin + senders) - std::max(at, begin));
      };
      const std::int64_t send = among(0), receive = among(reach);
      if (send == 0 && receive == 0) continue;
      if (leave_whole && std::max(send, receive) == part && std::min(send, receive) == 0 && std::exchange(seen, true))
        continue;
    }
    Leavers out(node), in(node);
    for (std::int64_t r = first; r < last; ++r) {
      const std::int64_t at = r % block;
      if (at < senders && (r + reach) / part != first / part) out.add(r);
      if (at >= reach && at < reach + senders && (r - reach) / part != first / part) in.add(r);
    }
    most = std::max({most, out.sharing(), in.sharing()});
  }
  return most;
}

}  // namespace

Transfer stage_hop(int stride, int stages, const spec::Cluster& cluster, int ranks_total) {
  const int block = stride * stages;
  if (block == ranks_total) return stage_hop(stride, cluster, ranks_total);
  const auto leaving = [&](int part) {
    return most_leaving(stride, block - stride, block, part, ranks_total, cluster.node);
  };
  const Layout layout{stride, block - stride, block, ranks_total};
  if (const int out = leaving(cluster.node.island()); out > 0) return {0, true, out, layout};
  if (bridged(cluster.node) && leaving(cluster.node.nvlink.domain) > 0) return {0, true, 0, layout};
  return {0, false, 1, layout};
}

Transfer stage_hop_between(int from, int to, const Transfer& any, int stride, int stages, const spec::Cluster& cluster,
                           int ranks_total) {
  const spec::Node& node = cluster.node;
  for (int kind = 0; kind < cluster.kinds(); ++kind) {  // parts of unequal size are taken at the worst
    const spec::Node& other = cluster.node_of(kind);
    if (other.island() != node.island() || other.nvlink.domain != node.nvlink.domain) return any;
  }
  if (!any.crosses_domain || stride >= node.island()) return any;
  const std::int64_t block = std::int64_t{stride} * stages;
  const auto leaves = [&](int part) {
    const std::int64_t end = std::min<std::int64_t>(ranks_total, std::lcm<std::int64_t>(block, part));
    for (std::int64_t first = 0; first < end; first += block) {
      for (std::int64_t rank = 0; rank < stride; ++rank) {
        if ((first + from * stride + rank) / part != (first + to * stride + rank) / part) return true;
      }
    }
    return false;
  };
  if (any.sharing > 0 && leaves(node.island())) return any;
  if (bridged(node) && leaves(node.nvlink.domain)) return {any.bytes, true, 0, any.layout};
  return {any.bytes, false, 1, any.layout};
}

namespace {

/// Pairs of which leaving(part), as they share its cards, leave a part.
template <class Leaving>
GroupShape pair_shape(const Leaving& leaving, const spec::Node& node, const Layout& layout) {
  if (const int out = leaving(node.island()); out > 0) return {2, 1, 2, out, layout};
  if (bridged(node) && leaving(node.nvlink.domain) > 0) return {2, 1, 2, 0, layout};
  return {2, 2, 1, 1, layout};
}

}  // namespace

GroupShape ends_shape(int stride, int stages, const spec::Cluster& cluster, int ranks_total) {
  const int reach = stride * std::max(1, stages - 1), size = std::min(stages, 2), block = stride * stages;
  if (size == 1) return group_shape(reach, size, cluster, ranks_total);
  const auto leaving = [&](int part) { return most_leaving(reach, stride, block, part, ranks_total, cluster.node); };
  const Layout layout{reach, stride, block, ranks_total};
  return pair_shape(leaving, cluster.node, layout);
}

GroupShape mirror_shape(int stage, int stride, int stages, const spec::Cluster& cluster, int ranks_total) {
  assert(2 * stage < stages - 1);
  const std::int64_t block = std::int64_t{stride} * stages;
  const auto mirrored = [&](std::int64_t rank) {
    return rank + (stages - 1 - 2 * (rank % block / stride)) * std::int64_t{stride};
  };
  const Layout layout{stride * (stages - 1 - 2 * stage), stride, static_cast<int>(block), ranks_total, stride * stage};
  // The most ranks of a part that leave it, if one of this stage does.
  const auto leaving = [&](std::int64_t part) {
    const std::int64_t end = std::min<std::int64_t>(ranks_total, std::lcm(block, part));
    bool any = false;
    int most = 0;
    for (std::int64_t first = 0; first < end; first += part) {
      Leavers out(cluster.node);
      for (std::int64_t r = first; r < std::min<std::int64_t>(first + part, ranks_total); ++r) {
        if (mirrored(r) / part == first / part) continue;
        out.add(r);
        any = any || r % block / stride == stage;
      }
      most = std::max(most, out.sharing());
    }
    return any ? most : 0;
  };
  return pair_shape(leaving, cluster.node, layout);
}

}  // namespace plan
