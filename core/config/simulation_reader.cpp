// SPDX-License-Identifier: Apache-2.0
#include "core/config/simulation_reader.h"

#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace config {
namespace {

constexpr std::int64_t kMostNumber = 2'000'000'000;
constexpr double kSlowest = 1'000'000;

/// Calls read(item, out) for each entry of the list of maps; `example` is one of them.
template <class Entry, class Read>
void read_list(MapReader& map, const char* key, const char* example, std::vector<Entry>& out, Faults& faults,
               Read read) {
  const Value* list = map.child(key);
  if (!list) return;
  if (list->kind != Value::Kind::list) {
    map.fault(key, "is not a list", std::string("write [") + example + "]");
    return;
  }
  for (std::size_t i = 0; i < list->items.size(); ++i) {
    MapReader item(list->items[i], map.path_of(key) + '[' + std::to_string(i) + ']', faults, example);
    Entry entry;
    read(item, entry);
    item.finish();
    out.push_back(entry);
  }
}

/// {node: 3}, {node: 3, card: 1}, {leaf: 0, rail: 2, uplinks: 1}, {tier: 1, switch: 0} or {groups: [0, 2]}
void read_place(MapReader& item, spec::LinkFault& link, int usual_count) {
  const int named = item.has("node") + item.has("leaf") + item.has("tier") + item.has("groups");
  if (named != 1) {
    item.fault("node", named == 0 ? "is missing, and no other place is named" : "stands beside another place",
               "name one place: node (with card), leaf (with rail), tier with switch, or groups");
  }
  if (item.read("node", link.node, 0, kMostNumber)) item.read("card", link.card, 0, kMostNumber);
  if (item.read("leaf", link.at, 0, kMostNumber)) link.tier = 0;
  if (item.read("tier", link.tier, 1, 1000)) item.require("switch", link.at, 0, kMostNumber);
  if (link.tier >= 0) {
    item.read("rail", link.rail, 0, kMostNumber);
    link.count = usual_count;
    item.read("uplinks", link.count, 1, kMostNumber);
  }
  if (std::vector<int> groups; item.read("groups", groups, 0, kMostNumber)) {
    if (groups.size() == 2) {
      link.from = groups[0], link.to = groups[1];
    } else {
      item.fault("groups", "are not two", "write the two groups that the link joins, such as [0, 2]");
    }
  }
}

}  // namespace

void read_simulation(const Value& value, spec::Simulation& sim, Faults& faults) {
  MapReader map(value, "simulation", faults, "simulation: {jitter: 0.02}, for example");
  map.read("unfold", sim.unfold);
  map.read("jitter", sim.jitter, 0, 1);
  std::int64_t seed = 1;
  if (map.read("seed", seed, 0, INT64_MAX)) sim.seed = static_cast<std::uint64_t>(seed);
  read_list(map, "slow_ranks", "{rank: 0, factor: 1.2}", sim.slow_ranks, faults,
            [](MapReader& item, spec::SlowRank& slow) {
              item.require("rank", slow.rank, 0, kMostNumber);
              item.require("factor", slow.factor, 1, kSlowest);
            });
  read_list(map, "slow_links", "{node: 0, factor: 1.2}", sim.slow_links, faults,
            [](MapReader& item, spec::LinkFault& link) {
              read_place(item, link, 0);
              item.require("factor", link.factor, 1, kSlowest);
            });
  read_list(map, "dead_links", "{node: 0, card: 1}", sim.dead_links, faults,
            [](MapReader& item, spec::LinkFault& link) {
              read_place(item, link, 1);
              link.factor = std::numeric_limits<double>::infinity();
            });
  read_list(map, "lost_nics", "{node: 0, count: 1}", sim.lost_nics, faults, [](MapReader& item, spec::LostNics& lost) {
    item.require("node", lost.node, 0, kMostNumber);
    item.read("count", lost.count, 1, kMostNumber);
  });
  map.finish();
}

}  // namespace config
