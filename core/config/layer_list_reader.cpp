// SPDX-License-Identifier: Apache-2.0
#include "core/config/layer_list_reader.h"
#include "core/base/text.h"

#include <map>

namespace config {
namespace {

using spec::Layer;
using T = spec::Layer::Type;

constexpr std::int64_t kMostChannels = 1'000'000, kMostSize = 100'000, kMostRows = 100'000'000'000;
constexpr std::size_t kMostOperators = 10'000;
constexpr double kMostElements = 1e11;
constexpr std::int64_t kMostOfALayer = 10'000'000'000'000;

void read_shape(Layer& layer, MapReader& map) {
  switch (layer.type) {
    case T::convolution:
      map.require("in", layer.in, 1, kMostChannels);
      map.require("out", layer.out, 1, kMostChannels);
      map.require("kernel", layer.kernel, 1, 1000);
      map.read("groups", layer.groups, 1, kMostChannels);
      map.read("bias", layer.bias);
      break;
    case T::dense:
      map.require("in", layer.in, 1, 100 * kMostChannels);
      map.require("out", layer.out, 1, kMostChannels);
      map.read("bias", layer.bias);
      break;
    case T::embedding_bag:
      map.require("rows", layer.rows, 1, kMostRows);
      map.require("width", layer.out, 1, kMostChannels);
      map.read("lookups", layer.lookups, 1, kMostChannels);
      layer.in = layer.out;
      return;
    case T::interaction:
      map.require("features", layer.features, 2, 10'000);
      map.require("width", layer.in, 1, kMostChannels);
      layer.out = layer.in + layer.features * (layer.features - 1) / 2;
      layer.in *= layer.features;
      return;
    default: map.require("channels", layer.out, 1, kMostChannels); layer.in = layer.out;
  }
  map.read("size", layer.size, 1, kMostSize);
  map.read("relu", layer.relu);
  if (layer.type == T::max_pool || layer.type == T::average_pool) map.require("kernel", layer.kernel, 1, 1000);
  if (layer.kernel > 1 || layer.type == T::convolution || layer.type == T::max_pool || layer.type == T::average_pool) {
    map.read("stride", layer.stride, 1, 1000);
    map.read("padding", layer.padding, 0, 1000);
  }
  if (layer.type == T::upsample) {
    layer.stride = 2;
    map.read("factor", layer.stride, 1, 1000);
  }
  if (layer.type == T::attention) {
    map.read("heads", layer.heads, 1, kMostChannels);
    layer.in = 3 * layer.out;
  }
}

/// Sums, joins and interactions take several inputs, of which a file names the first at most.
bool one_input(const Layer& layer) {
  return layer.type != T::add && layer.type != T::concat && layer.type != T::interaction &&
         layer.type != T::embedding_bag;
}

void check_layer(const Layer& layer, const std::vector<Layer>& before, MapReader& map) {
  if (layer.size + 2 * layer.padding < layer.kernel) {
    return map.fault("kernel", "is larger than the padded input", "mend kernel, padding or size");
  }
  if (layer.type == T::convolution && (layer.in % layer.groups != 0 || layer.out % layer.groups != 0)) {
    return map.fault("groups", "does not divide both in and out", "choose a divisor of both");
  }
  if (layer.type == T::attention && layer.out % layer.heads != 0) {
    return map.fault("heads", "does not divide the channels", "choose a divisor of them");
  }
  const double size = static_cast<double>(layer.out_size());
  if (static_cast<double>(layer.in_elements()) > kMostElements ||
      static_cast<double>(layer.out) * size * size > kMostElements) {
    return map.fault("size", "one sample's tensor would have more than 1e11 elements", "check it for a digit too many");
  }
  if (layer.parameters() > kMostOfALayer) {
    return map.fault("type", "it would have more than 1e13 parameters", "check its shape for a digit too many");
  }
  if (layer.reads < 0 || !one_input(layer)) return;
  const Layer& read = before[layer.reads];
  if (read.out_elements() != layer.in_elements()) {
    map.fault(map.has("in") ? "in" : "channels",
              "takes " + std::to_string(layer.in_elements()) + " numbers of a sample, but " + read.name + " puts out " +
                  std::to_string(read.out_elements()),
              "mend the shape, or name the operator that it reads: `reads: NAME`");
  }
}

}  // namespace

std::vector<Layer> read_layer_list(const Value& list, const std::string& path, Faults& faults) {
  std::vector<Layer> out;
  if (list.kind != Value::Kind::list || list.items.empty() || list.items.size() > kMostOperators) {
    faults.push_back(
        {path, "is not a list of 1 to 10,000 operators", "write [{type: dense, in: 64, out: 10}]", list.where});
    return out;
  }
  std::map<std::string, int> known{{"input", -1}};
  for (std::size_t i = 0; i < list.items.size(); ++i) {
    Layer layer;
    const std::size_t before = faults.size();
    MapReader map(list.items[i], path + '[' + std::to_string(i) + ']', faults);
    layer.name = "operator " + std::to_string(i);
    map.read("name", layer.name);
    const bool typed = map.require("type", layer.type,
                                   {{"convolution", T::convolution},
                                    {"dense", T::dense},
                                    {"batchnorm", T::batchnorm},
                                    {"groupnorm", T::groupnorm},
                                    {"activation", T::activation},
                                    {"max_pool", T::max_pool},
                                    {"average_pool", T::average_pool},
                                    {"add", T::add},
                                    {"concat", T::concat},
                                    {"upsample", T::upsample},
                                    {"attention", T::attention},
                                    {"embedding_bag", T::embedding_bag},
                                    {"interaction", T::interaction}});
    layer.reads = static_cast<int>(i) - 1;
    if (std::string name; map.read("reads", name)) {
      if (const auto at = known.find(name); at != known.end()) {
        layer.reads = at->second;
      } else {
        map.fault("reads", base::quoted(name) + " is no operator before this one",
                  "write `input` or the name of one above");
      }
    }
    if (typed) read_shape(layer, map);
    if (typed && faults.size() == before) check_layer(layer, out, map);
    if (typed) map.finish();
    if (!known.emplace(layer.name, static_cast<int>(i)).second) {
      map.fault("name", base::quoted(layer.name) + " stands above already", "give each operator a name of its own");
    }
    out.push_back(std::move(layer));
    if (faults.size() != before) return out;  // what follows reads what could not be read
  }
  return out;
}

}  // namespace config
