// SPDX-License-Identifier: Apache-2.0
#include "core/config/price_reader.h"

#include <algorithm>
#include <filesystem>

#include "core/base/near_names.h"
#include "core/base/text.h"
#include "core/config/figure_reader.h"

namespace config {
namespace {

namespace fs = std::filesystem;

/// The map that a key holds, or that the file holds which it names (from here, or from the file that names it).
Value opened(const Value& at, const std::string& path, Faults& faults) {
  if (at.kind != Value::Kind::scalar) return at;
  std::error_code error;
  for (const fs::path& file : {fs::path(at.text), fs::path(at.where.file).parent_path() / at.text}) {
    if (fs::is_regular_file(file, error)) return load(file);
  }
  faults.push_back(
      {path, "there is no file " + base::quoted(at.text), "write the path from here or from the plan", at.where});
  return {};
}

/// What a user says: a file's entries, and those that stand in a map, which are laid over the file that its `base`
/// names.
struct Layer {
  Value tree;
  std::string path;
};
std::vector<Layer> layers(const Value& own, const std::string& key, Faults& faults) {
  if (own.kind == Value::Kind::scalar) return {{opened(own, key, faults), ""}};
  std::vector<Layer> out;
  Value rest = own;
  if (const Value* base = own.find("base")) {
    if (base->kind == Value::Kind::scalar) {
      out.push_back({opened(*base, key + ".base", faults), ""});
    } else {
      faults.push_back({key + ".base", "is not the path of a file", "write base: my-" + key + ".yaml", base->where});
    }
    std::erase_if(rest.entries, [](const auto& entry) { return entry.first == "base"; });
  }
  out.push_back({std::move(rest), key});
  return out;
}

void read_rents(const Value& list, const std::string& path, PriceList& out, Faults& faults) {
  const MapReader told(list, path, faults, "rent: {h100-sxm: $2.50/h}");  // if it is none
  for (const auto& [name, value] : list.entries) {
    if (name == "source") continue;
    read_figure(value, path + '.' + name, base::parse_time_price, base::usd_per_hour(0.001), base::usd_per_hour(1e6),
                "the price of a GPU for an hour, such as $2.50/h", out.rent[name], faults);
  }
}

void read_purchases(const Value& list, const std::string& path, PriceList& out, Faults& faults) {
  const MapReader told(list, path, faults, "buy: {dgx-h100: $300k}");
  for (const auto& [name, value] : list.entries) {
    if (name == "source") continue;
    read_figure(value, path + '.' + name, base::parse_money, base::usd(1), base::usd(1e12),
                "the price of a node, such as $300k", out.buy[name], faults);
  }
}

template <class T>
void read_one(MapReader& map, const char* key, base::Parsed<T> (*parse)(std::string_view), T least, T most,
              const char* range, spec::Figure<T>& out, Faults& faults) {
  if (const Value* value = map.child(key))
    read_figure(*value, map.path_of(key), parse, least, most, range, out, faults);
}

void lay_over(PriceList& out, const Value& tree, const std::string& path, Faults& faults) {
  MapReader map(tree, path, faults);
  if (const Value* rent = map.child("rent")) read_rents(*rent, map.path_of("rent"), out, faults);
  if (const Value* buy = map.child("buy")) read_purchases(*buy, map.path_of("buy"), out, faults);
  spec::Ownership& own = out.ownership;
  read_one(map, "electricity", base::parse_energy_price, base::usd_per_kwh(0), base::usd_per_kwh(100), "$0 to $100/kWh",
           own.electricity, faults);
  read_one(map, "pue", parse_number, 1.0, 10.0, "a number from 1 to 10", own.pue, faults);
  read_one(map, "life", base::parse_seconds, base::days(1), base::days(36500), "1d to 100y", own.life, faults);
  read_one(map, "use", parse_number, 0.01, 1.0, "a share from 0.01 to 1", own.use, faults);
  map.finish();
}

void note_own(const Value& tree, const std::string& path, const char* list, std::vector<OwnPrice>& out) {
  const Value* prices = tree.kind == Value::Kind::map ? tree.find(list) : nullptr;
  if (prices == nullptr) return;
  for (const auto& [name, value] : prices->entries) {
    if (name == "source") continue;
    out.push_back({(path.empty() ? "" : path + '.') + list + '.' + name, name, list, value.key_where});
  }
}

spec::Stragglers read_stragglers(const Value& value, const std::string& path, Faults& faults) {
  spec::Stragglers out;
  MapReader map(value, path, faults, "stragglers: {mtbf: 20000h, lasts: 2h, slowdown: 1.2}");
  if (map.require("mtbf", out.mtbf) && !(out.mtbf.si() >= 1)) {
    map.fault("mtbf", "is below a second", "write the time between slow spells of one GPU, such as 20000h");
  }
  if (map.require("lasts", out.lasts) && !(out.lasts.si() >= 1)) {
    map.fault("lasts", "is below a second", "write how long a spell lasts, such as 2h");
  }
  map.require("slowdown", out.slowdown, 1.0, 1000.0);
  map.finish();
  return out;
}

void lay_over(spec::Failures& out, const Value& tree, const std::string& path, spec::Checkpointing& checkpoint,
              Faults& faults) {
  const base::Seconds least = base::s(1), most = base::days(3.65e8), none;
  MapReader map(tree, path, faults);
  read_one(map, "gpu_mtbf", base::parse_seconds, least, most, "1s to 1000000y", out.gpu_mtbf, faults);
  read_one(map, "node_mtbf", base::parse_seconds, least, most, "1s to 1000000y", out.node_mtbf, faults);
  read_one(map, "hardware", parse_number, 0.0, 1.0, "a share from 0 to 1", out.hardware, faults);
  read_one(map, "detect", base::parse_seconds, none, base::days(365), "0s to 365d", out.detect, faults);
  read_one(map, "restart", base::parse_seconds, none, base::days(365), "0s to 365d", out.restart, faults);
  read_one(map, "repair", base::parse_seconds, none, base::days(365), "0s to 365d", out.repair, faults);
  read_one(map, "checkpoint_bandwidth", base::parse_byte_rate, base::ByteRate(1e3), base::ByteRate(1e18),
           "1kB/s or more, of one node", checkpoint.bandwidth, faults);
  map.part("stragglers", out.stragglers, read_stragglers);
  map.finish();
}

}  // namespace

bool PriceList::is_own(std::string_view list, std::string_view name) const {
  return std::any_of(own.begin(), own.end(), [&](const OwnPrice& p) { return p.list == list && p.of == name; });
}

PriceList read_prices(const Value* own, const Catalogue& catalogue, Faults& faults) {
  PriceList out;
  lay_over(out, load(catalogue.root() + "/topologies/prices.yaml"), "", faults);
  if (own != nullptr) {
    for (const auto& [tree, path] : layers(*own, "prices", faults)) {
      lay_over(out, tree, path, faults);
      for (const char* list : {"rent", "buy"}) note_own(tree, path, list, out.own);
    }
  }
  return out;
}

void refuse_strangers(const PriceList& prices, const std::vector<spec::Candidate>& candidates,
                      const Catalogue& catalogue, Faults& faults) {
  const auto has = [](const std::vector<std::string>& names, const std::string& name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  std::vector<std::string> gpus = catalogue.names(Catalogue::Kind::gpu);
  std::vector<std::string> known = gpus, nodes = catalogue.names(Catalogue::Kind::node), here;
  for (const spec::Candidate& candidate : candidates) {
    const spec::Node& node = candidate.job.cluster.node;
    for (const std::string& name : {node.gpu.name, node.name}) {
      if (!has(here, name)) here.push_back(name);
    }
    nodes.push_back(node.name);
    gpus.push_back(node.gpu.name);
  }
  known.insert(known.end(), nodes.begin(), nodes.end());
  known.insert(known.end(), here.begin(), here.end());
  for (const OwnPrice& price : prices.own) {
    if (price.list == "buy" && has(gpus, price.of) && !has(nodes, price.of)) {
      faults.push_back({price.path, base::quoted(price.of) + " is a GPU, and what is bought are nodes",
                        "write the name of a node, such as dgx-h100, and what it costs with its GPUs", price.where});
    }
    if (has(known, price.of)) continue;
    const std::string of_the_plan = base::did_you_mean(price.of, here);
    faults.push_back(
        {price.path, "no GPU, node or candidate is called " + base::quoted(price.of),
         of_the_plan.empty()
             ? base::nearest_or(price.of, known, "`forerun list gpus` and `forerun list nodes` show the names")
             : of_the_plan,
         price.where});
  }
}

void read_failures(const Value* own, const Value* checkpoint, const Catalogue& catalogue, spec::Failures& failures,
                   spec::Checkpointing& out, Faults& faults) {
  lay_over(failures, load(catalogue.root() + "/topologies/failures.yaml"), "", out, faults);
  if (own != nullptr) {
    for (const auto& [tree, path] : layers(*own, "failures", faults)) lay_over(failures, tree, path, out, faults);
  }
  if (checkpoint == nullptr) return;
  MapReader map(*checkpoint, "checkpoint", faults, "checkpoint: {bandwidth: 1GB/s, async: true}");
  read_one(map, "bandwidth", base::parse_byte_rate, base::ByteRate(1e3), base::ByteRate(1e18),
           "1kB/s or more, of one node", out.bandwidth, faults);
  map.read("async", out.async);
  base::Seconds interval;
  if (map.read("interval", interval)) out.interval = interval;
  if (out.interval && !(out.interval->si() >= 1)) {
    map.fault("interval", "is below a second", "write the time between two checkpoints, such as 30min");
  }
  map.finish();
}

}  // namespace config
