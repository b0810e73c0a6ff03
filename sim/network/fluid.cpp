// sim/network/fluid.cpp -- see fluid.h. Classes are found by colour refinement: a colour is a hash of what it is made
// of, and colours are dealt out anew until their number stays the same.
// SPDX-License-Identifier: Apache-2.0
#include "sim/network/fluid.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <numeric>

#include "sim/network/mixed.h"

namespace sim {
namespace {

using Colours = std::vector<std::uint64_t>;

std::size_t distinct(Colours colours) {
  std::sort(colours.begin(), colours.end());
  return static_cast<std::size_t>(std::unique(colours.begin(), colours.end()) - colours.begin());
}

// Numbers 0, 1, ... for the classes in order of first appearance; returns how many.
int number(const Colours& colours, std::vector<int>& classes) {
  std::vector<std::size_t> order(colours.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return colours[a] < colours[b]; });
  classes.assign(colours.size(), 0);
  int last = -1;
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (i == 0 || colours[order[i]] != colours[order[i - 1]]) ++last;
    classes[order[i]] = last;
  }
  return last + 1;
}

struct Partition {
  std::vector<int> flow_class, link_class;
  int flow_classes = 0, link_classes = 0;
};

Partition refined(const Fluid& fluid) {
  Colours flows(fluid.flows()), links(fluid.capacities.size());
  for (std::size_t f = 0; f < flows.size(); ++f) flows[f] = mixed(std::bit_cast<std::uint64_t>(fluid.volumes[f]));
  for (std::size_t f = 0; f < fluid.kinds.size(); ++f) flows[f] ^= mixed(static_cast<std::uint64_t>(fluid.kinds[f]));
  for (std::size_t l = 0; l < links.size(); ++l) links[l] = mixed(std::bit_cast<std::uint64_t>(fluid.capacities[l]));
  for (std::size_t before = 0, now = distinct(flows) + distinct(links); now != before;) {
    Colours on_link(links.size(), 0);
    for (std::size_t f = 0; f < flows.size(); ++f) {
      std::uint64_t along = 0;  // sums, for order does not matter
      for (std::size_t i = fluid.starts[f]; i < fluid.starts[f + 1]; ++i) {
        const auto l = static_cast<std::size_t>(fluid.routes[i]);
        along += mixed(links[l]);
        on_link[l] += mixed(flows[f] + 1);
      }
      flows[f] = mixed(flows[f] ^ mixed(along));
    }
    for (std::size_t l = 0; l < links.size(); ++l) links[l] = mixed(links[l] ^ mixed(on_link[l]));
    before = now;
    now = distinct(flows) + distinct(links);
  }
  Partition out;
  out.flow_classes = number(flows, out.flow_class);
  out.link_classes = number(links, out.link_class);
  return out;
}

int root_of(std::vector<int>& parent, int i) {
  while (parent[static_cast<std::size_t>(i)] != i) {
    int& up = parent[static_cast<std::size_t>(i)];
    i = up = parent[static_cast<std::size_t>(up)];
  }
  return i;
}

}  // namespace

Fluid folded(const Fluid& fluid) {
  const Partition of = refined(fluid);
  const auto flow_classes = static_cast<std::size_t>(of.flow_classes);
  const auto link_classes = static_cast<std::size_t>(of.link_classes);
  std::vector<std::int64_t> members(flow_classes, 0);
  std::vector<std::size_t> sample(flow_classes, 0);
  for (std::size_t f = fluid.flows(); f-- > 0;) {
    ++members[static_cast<std::size_t>(of.flow_class[f])];
    sample[static_cast<std::size_t>(of.flow_class[f])] = f;
  }
  // Classes that meet on a link belong together: the links' parts are flow_classes, flow_classes + 1, ...
  std::vector<int> parent(flow_classes + link_classes);
  std::iota(parent.begin(), parent.end(), 0);
  const auto link_class = [&](std::size_t i) { return of.link_class[static_cast<std::size_t>(fluid.routes[i])]; };
  for (std::size_t c = 0; c < flow_classes; ++c) {
    for (std::size_t i = fluid.starts[sample[c]]; i < fluid.starts[sample[c] + 1]; ++i) {
      parent[static_cast<std::size_t>(root_of(parent, static_cast<int>(c)))] =
          root_of(parent, of.flow_classes + link_class(i));
    }
  }
  const auto part = [&](std::size_t i) { return static_cast<std::size_t>(root_of(parent, static_cast<int>(i))); };
  std::vector<std::int64_t> divisor(parent.size(), 0);
  for (std::size_t c = 0; c < flow_classes; ++c) divisor[part(c)] = std::gcd(divisor[part(c)], members[c]);

  Fluid out;
  out.capacities.assign(link_classes, 0);
  for (std::size_t l = 0; l < fluid.capacities.size(); ++l) {
    const auto c = static_cast<std::size_t>(of.link_class[l]);
    const std::int64_t parts = divisor[part(flow_classes + c)];
    if (parts > 0) out.capacities[c] += fluid.capacities[l] / static_cast<double>(parts);
  }
  std::vector<int> links;
  for (std::size_t c = 0; c < flow_classes; ++c) {
    links.clear();
    for (std::size_t i = fluid.starts[sample[c]]; i < fluid.starts[sample[c] + 1]; ++i) links.push_back(link_class(i));
    for (std::int64_t copy = members[c] / divisor[part(c)]; copy > 0; --copy) {
      out.add(fluid.volumes[sample[c]], links);
      if (!fluid.kinds.empty()) out.kinds.push_back(fluid.kinds[sample[c]]);
    }
  }
  return out;
}

void EndByBounds::cross(std::size_t link, double volume) {
  Link& crossed = links_[link];
  crossed.load += volume;
  ++crossed.crossings;
  crossed.most = std::max(crossed.most, volume);
}

std::optional<double> EndByBounds::last_end() const {
  double soonest = 0, latest = 0;
  for (const Link& link : links_) {
    soonest = std::max(soonest, link.load / link.capacity);
    latest = std::max(latest, link.most * link.crossings / link.capacity);
  }
  if (latest > soonest * (1 + 1e-9)) return std::nullopt;
  return soonest;
}

std::optional<double> last_end_by_bounds(const Fluid& fluid) {
  EndByBounds bounds;
  for (const double capacity : fluid.capacities) bounds.add_link(capacity);
  for (std::size_t f = 0; f < fluid.flows(); ++f) {
    for (std::size_t i = fluid.starts[f]; i < fluid.starts[f + 1]; ++i) {
      bounds.cross(static_cast<std::size_t>(fluid.routes[i]), fluid.volumes[f]);
    }
  }
  return bounds.last_end();
}

}  // namespace sim
