// SPDX-License-Identifier: Apache-2.0
#include "core/config/collective_places.h"

#include <algorithm>

#include "core/config/collective_case_reader.h"

namespace config {
namespace {

Place read_place(const Value& value, const std::string& path, const Catalogue& catalogue, Faults& faults) {
  Place place;
  MapReader map(value, path, faults);
  map.read("gpu", place.gpu);
  map.read("intra", place.intra);
  map.read("inter", place.inter);
  map.read("quality", place.quality);
  map.read("op", place.op);
  map.read("source", place.source);
  map.read("gpus_per_node", place.gpus_per_node, 1, 1'000'000);
  map.read("above_nodes", place.above_nodes, 1, 1'000'000);
  map.read("below", place.below);
  map.read("ranks", place.ranks, 1, 1'000'000);
  map.read("leave_out", place.leave_out);
  map.read("fastest", place.fastest);
  if (place.leave_out.empty()) place.cluster = read_measured_cluster(map, catalogue, faults);
  map.finish();
  return place;
}

bool holds(const Place& place, const MeasuredCollective& row, const std::string& source) {
  const bool inside = place.inter == "none";
  return row.gpu.starts_with(place.gpu) && row.intra.starts_with(place.intra) &&
         (inside ? row.inter.empty() : row.inter.starts_with(place.inter)) && row.quality.starts_with(place.quality) &&
         row.op.starts_with(place.op) && source.find(place.source) != std::string::npos &&
         (place.gpus_per_node == 0 || place.gpus_per_node == row.gpus_per_node) && row.nodes > place.above_nodes &&
         (place.below.si() <= 0 || static_cast<double>(row.bytes) < place.below.si()) &&
         (place.ranks.empty() || std::find(place.ranks.begin(), place.ranks.end(), row.ranks) != place.ranks.end());
}

}  // namespace

std::vector<Place> read_places(const std::string& path, const Catalogue& catalogue) {
  Faults faults;
  std::vector<Place> places;
  const Value tree = load(path);
  MapReader map(tree, "", faults);
  const Value* list = map.child("places");
  if (!list || list->kind != Value::Kind::list) {
    map.fault("places", "is no list", "write places: [{gpu: H100, inter: none, node: dgx-h100}]");
  } else {
    const Catalogue once = catalogue.remembering();
    for (const Value& one : list->items) {
      places.push_back(read_place(one, "places[" + std::to_string(places.size()) + "]", once, faults));
    }
  }
  map.finish();
  if (!faults.empty()) throw base::InputError(std::move(faults));
  return places;
}

const Place* place_of(const MeasuredCollective& row, const std::string& source, const std::vector<Place>& places) {
  const auto at = std::find_if(places.begin(), places.end(), [&](const Place& one) { return holds(one, row, source); });
  return at == places.end() ? nullptr : &*at;
}

}  // namespace config
