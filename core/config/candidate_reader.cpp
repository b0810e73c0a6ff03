// SPDX-License-Identifier: Apache-2.0
#include "core/config/candidate_reader.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "core/base/repeated.h"
#include "core/base/text.h"
#include "core/config/figure_reader.h"
#include "core/config/search_reader.h"
#include "core/spec/ranges.h"

namespace config {
namespace {

enum class Terms { rent, buy, both };

/// One entry of the list, read but for its clusters.
struct Entry {
  std::string path;  // "candidates[0]"
  const Value* node = nullptr;
  base::Where where;
  std::vector<int> nodes;
  std::vector<const Value*> fabrics;  // null: the node's own
  Terms terms = Terms::rent;
  std::optional<spec::Figure<base::TimePrice>> rent;
  std::optional<spec::Figure<base::Money>> price;
  std::optional<int> spares;
};

void read_counts(MapReader& map, Entry& entry) {
  const Value* value = map.child("nodes");
  if (value == nullptr) {
    map.fault("nodes", "is missing", "add `nodes:` with a count, or several: [32, 64]");
  } else if (value->kind == Value::Kind::list) {
    map.read("nodes", entry.nodes, 1, spec::kMostNodes);
    if (value->items.empty()) map.fault("nodes", "is an empty list", "write counts, such as [32, 64]");
    for (const std::size_t i : base::repeated(entry.nodes)) {
      map.fault("nodes", std::to_string(entry.nodes[i]) + " is there twice", "write each count once");
    }
  } else {
    int count = 0;
    if (map.read("nodes", count, 1, spec::kMostNodes)) entry.nodes = {count};
  }
}

void read_spares(MapReader& map, Entry& entry) {
  const Value* value = map.child("spares");
  if (value == nullptr || (value->kind == Value::Kind::scalar && value->text == "auto")) return;
  int spares = 0;
  if (map.read("spares", spares, 0, spec::kMostNodes)) entry.spares = spares;
}

Entry read_entry(const Value& value, std::string path, Faults& faults) {
  Entry entry;
  entry.where = value.where;
  const std::size_t colon = value.text.find(':');  // of "dgx-h100:32", which a command line takes
  const std::string name = value.text.empty() ? "dgx-h100" : value.text.substr(0, colon);
  const std::string nodes = colon == std::string::npos ? "32" : value.text.substr(colon + 1);
  MapReader map(value, path, faults, "{node: " + name + ", nodes: [" + nodes + "]}");
  entry.path = std::move(path);
  entry.node = map.child("node");
  if (entry.node == nullptr && value.kind == Value::Kind::map) {
    map.fault("node", "is missing", "add `node:` with a name, a path or a map; `forerun list nodes` shows the names");
  } else if (entry.node != nullptr && entry.node->kind == Value::Kind::list) {
    map.fault("node", "a list is not a node", "a mixed cluster has no price here: name one kind of node a candidate");
    entry.node = nullptr;
  }
  read_counts(map, entry);
  if (const Value* fabric = map.child("fabric"); fabric != nullptr && fabric->kind == Value::Kind::list) {
    for (const Value& one : fabric->items) entry.fabrics.push_back(&one);
  } else {
    entry.fabrics.push_back(fabric);
  }
  map.read("terms", entry.terms, {{"rent", Terms::rent}, {"buy", Terms::buy}, {"both", Terms::both}});
  if (const Value* rent = map.child("rent")) {
    read_figure(*rent, map.path_of("rent"), base::parse_time_price, base::usd_per_hour(0.001), base::usd_per_hour(1e6),
                "the price of a GPU for an hour, such as $2.50/h", entry.rent.emplace(), faults);
  }
  if (const Value* price = map.child("price")) {
    read_figure(*price, map.path_of("price"), base::parse_money, base::usd(1), base::usd(1e12),
                "the price of a node, such as $300k", entry.price.emplace(), faults);
  }
  read_spares(map, entry);
  map.finish();
  return entry;
}

Value cluster_tree(const Entry& entry, int nodes, const Value* fabric) {
  Value out;
  out.kind = Value::Kind::map;
  out.where = out.key_where = entry.where;
  out.set("node", *entry.node);
  out.set("nodes", scalar(std::to_string(nodes), entry.where));
  if (fabric != nullptr) out.set("fabric", *fabric);
  return out;
}

/// Of one that cannot be read, which is told where its Job is: 1.
std::int64_t gpus_of_node(const Entry& entry, const Catalogue& catalogue) {
  Faults told_with_the_job;
  return std::max(1, catalogue.node(*entry.node, "node", told_with_the_job).gpus);
}

/// Where nobody says it.
void set_batch(Value& job, const std::map<std::int64_t, std::int64_t>& batches, std::int64_t gpus) {
  const auto at = batches.find(gpus);
  if (at == batches.end()) return;
  Value training = *job.find("training");
  training.set("global_batch", scalar(std::to_string(at->second), training.where));
  job.set("training", std::move(training));
}

/// The same number for the same names and count; what is written as a map is a cluster of its own.
class ClusterNumbers {
 public:
  int of(const Value& node, int nodes, const Value* fabric) {
    const bool named = node.kind == Value::Kind::scalar && (fabric == nullptr || fabric->kind == Value::Kind::scalar);
    if (!named) return next_++;
    const auto [at, is_new] = known_.try_emplace({node.text, nodes, fabric != nullptr ? fabric->text : ""}, next_);
    next_ += is_new ? 1 : 0;
    return at->second;
  }

 private:
  std::map<std::tuple<std::string, int, std::string>, int> known_;
  int next_ = 0;
};

/// Those about the cluster carry the candidate's path; what is noted already, as faults of the model are with every
/// candidate, is not noted again.
void add_faults(const std::vector<base::Fault>& found, const std::string& path, Faults& faults) {
  for (base::Fault fault : found) {
    if (fault.field.starts_with("cluster.")) fault.field.replace(0, std::string("cluster").size(), path);
    const auto same = [&](const base::Fault& known) {
      return known.field == fault.field && known.what == fault.what && known.where.file == fault.where.file &&
             known.where.line == fault.where.line && known.where.column == fault.where.column;
    };
    if (std::none_of(faults.begin(), faults.end(), same)) faults.push_back(std::move(fault));
  }
}

/// "gh200-96gb" of "gh200-96gb (changed)": a limit of power is no other product.
std::string as_sold(std::string name) {
  constexpr std::string_view kChanged = " (changed)";
  if (name.ends_with(kChanged)) name.resize(name.size() - kChanged.size());
  return name;
}

/// The catalogue's node that this one was changed from, where it has the same GPUs; empty otherwise.
std::optional<spec::Node> as_it_was(const spec::Node& node, const Catalogue& catalogue) {
  const std::string sold = as_sold(node.name);
  const std::vector<std::string> nodes = catalogue.names(Catalogue::Kind::node);
  if (sold == node.name || std::find(nodes.begin(), nodes.end(), sold) == nodes.end()) return {};
  Faults none;  // the catalogue's own are sound
  spec::Node was = catalogue.node(scalar(sold), "node", none);
  if (was.gpu.name != as_sold(node.gpu.name)) return {};
  return was;
}

/// What a rent may go by, the nearest first: the node, the one it was, its GPU; a purchase not by the GPU, nor where
/// the node had more or fewer of them.
std::vector<std::string> rented_as(const spec::Node& node, const Catalogue& catalogue) {
  std::vector<std::string> out{node.name};
  if (const auto was = as_it_was(node, catalogue)) out.push_back(was->name);
  out.push_back(as_sold(node.gpu.name));
  return out;
}
std::vector<std::string> bought_as(const spec::Node& node, const Catalogue& catalogue) {
  std::vector<std::string> out{node.name};
  if (const auto was = as_it_was(node, catalogue); was && was->gpus == node.gpus) out.push_back(was->name);
  return out;
}

/// The entry's own figure, else the user's for one of `names`, else the catalogue's.
template <class T>
void look_up(const std::map<std::string, spec::Figure<T>>& list, const std::vector<std::string>& names,
             const std::function<bool(const std::string&)>& is_own, const std::string& path, std::string& whose,
             std::optional<spec::Figure<T>>& out) {
  whose = out ? path : names.front();
  for (const bool own : {true, false}) {
    for (const std::string& name : names) {
      const auto at = list.find(name);
      if (out || at == list.end() || is_own(name) != own) continue;
      whose = name;
      out = at->second;
    }
  }
}

/// How a key of the entry is written: in its map, or beside the words of a command line, which have no room for it.
std::string setting(const Entry& entry, const std::string& key, const std::string& value) {
  if (entry.where.line > 0) return key + ": " + value + " here";
  return "--set '" + entry.path + '.' + key + '=' + value + "'";
}

void add_prices(const Entry& entry, const PriceList& prices, const Catalogue& catalogue, spec::Candidate& candidate,
                Faults& faults) {
  const spec::Node& node = candidate.job.cluster.node;
  candidate.rent = entry.rent;
  candidate.price = entry.price;
  const auto own = [&](const char* list) {
    return [&prices, list](const std::string& name) { return prices.is_own(list, name); };
  };
  look_up(prices.rent, rented_as(node, catalogue), own("rent"), entry.path, candidate.rent_of, candidate.rent);
  look_up(prices.buy, bought_as(node, catalogue), own("buy"), entry.path, candidate.price_of, candidate.price);
  if (!candidate.rent && entry.terms != Terms::buy) {
    add_faults({{"cluster.rent", "nothing says what an hour of " + base::quoted(as_sold(node.gpu.name)) + " costs",
                 "write " + setting(entry, "rent", "$2.50/h") + ", or rent: {" + as_sold(node.gpu.name) +
                     ": $2.50/h} in your prices",
                 entry.where}},
               entry.path, faults);
  }
  if (!candidate.price && entry.terms != Terms::rent) {
    add_faults({{"cluster.price", "nothing says what a node " + base::quoted(node.name) + " costs",
                 "write " + setting(entry, "price", "$300k") + ", or buy: {" + node.name + ": $300k} in your prices",
                 entry.where}},
               entry.path, faults);
  }
  if (!(node.power.si() > 0) && entry.terms != Terms::rent) {
    add_faults({{"cluster.node.power", "is unknown, and who buys pays for electricity",
                 entry.node->kind == Value::Kind::map ? "write power: 10kW in its map"
                                                      : "write node: {base: " + entry.node->text + ", power: 10kW}",
                 entry.where}},
               entry.path, faults);
  }
}

/// Rented, bought, or both; named after a price of its own.
void add_terms(const Entry& entry, spec::Candidate candidate, std::vector<spec::Candidate>& out) {
  const std::string name = candidate.name;
  if (entry.terms != Terms::buy) {
    if (entry.rent) candidate.name += ", " + base::human(entry.rent->value);
    out.push_back(candidate);
  }
  if (entry.terms == Terms::rent) return;
  candidate.bought = true;
  candidate.name = name + (entry.price ? ", bought for " + base::human(entry.price->value) : ", bought");
  out.push_back(std::move(candidate));
}

/// Candidates of one name that are not the same are told apart by their spares, else by their entries, else by numbers.
void name_apart(std::vector<spec::Candidate>& candidates, const std::vector<std::string>& paths) {
  const auto tell = [&](const auto& trait_of, const auto& words_of) {
    std::map<std::string, std::set<std::string>> traits;
    for (const spec::Candidate& one : candidates) traits[one.name].insert(trait_of(one));
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      if (traits[candidates[i].name].size() > 1) candidates[i].name += words_of(i);
    }
  };
  const auto spares = [](const spec::Candidate& one) {
    if (!one.spares) return std::string(", as many spares as pay");
    return ", " + std::to_string(*one.spares) + (*one.spares == 1 ? " spare" : " spares");
  };
  tell(spares, [&](std::size_t i) { return spares(candidates[i]); });
  const auto cluster_and_prices = [](const spec::Candidate& one) {
    return std::to_string(one.cluster) + ' ' + std::to_string(one.rent ? one.rent->value.per_si() : 0) + ' ' +
           std::to_string(one.price ? one.price->value.dollars() : 0);
  };
  tell(cluster_and_prices, [&](std::size_t i) { return " of " + paths[i]; });
  int number = 0;  // an entry stands for several clusters
  tell(cluster_and_prices, [&](std::size_t) { return ", no. " + std::to_string(++number); });
}

}  // namespace

std::vector<spec::Candidate> read_candidates(const Value& list, const Value& job,
                                             const std::map<std::int64_t, std::int64_t>& batches,
                                             const PriceList& prices, const Catalogue& catalogue, Faults& faults,
                                             std::map<int, Value>* jobs) {
  std::vector<spec::Candidate> out;
  if (list.kind != Value::Kind::list || list.items.empty()) {
    faults.push_back({"candidates", list.kind == Value::Kind::list ? "is an empty list" : "is not a list",
                      "write [{node: dgx-h100, nodes: [32, 64]}]", list.where});
    return out;
  }
  ClusterNumbers clusters;
  std::vector<std::string> paths;  // of their entries
  for (std::size_t i = 0; i < list.items.size(); ++i) {
    const Entry entry = read_entry(list.items[i], "candidates[" + std::to_string(i) + "]", faults);
    if (entry.node == nullptr) continue;
    const std::int64_t gpus = gpus_of_node(entry, catalogue);
    for (const Value* fabric : entry.fabrics) {
      for (const int nodes : entry.nodes) {
        if (nodes == 1 && fabric != entry.fabrics.front()) continue;  // no fabric joins a node to itself
        Value tree = job;
        tree.set("cluster", cluster_tree(entry, nodes, fabric));
        set_batch(tree, batches, nodes * gpus);
        spec::Candidate candidate;
        try {
          OpenJob open = read_open_job(tree, catalogue);
          candidate.job = std::move(open.job);
          candidate.space = open.space;
        } catch (const base::InputError& error) {
          add_faults(error.faults, entry.path, faults);
          continue;
        }
        candidate.cluster = clusters.of(*entry.node, nodes, fabric);
        if (jobs != nullptr) jobs->try_emplace(candidate.cluster, std::move(tree));
        candidate.spares = entry.spares;
        candidate.name = spec::nodes_text(candidate.job.cluster);
        if (fabric != nullptr && nodes > 1) candidate.name += ", " + candidate.job.cluster.fabric.name;
        add_prices(entry, prices, catalogue, candidate, faults);
        add_terms(entry, candidate, out);
        paths.resize(out.size(), entry.path);
      }
    }
  }
  name_apart(out, paths);
  return out;
}

std::set<std::int64_t> gpus_of(const Value& list, const Catalogue& catalogue) {
  std::set<std::int64_t> out;
  if (list.kind != Value::Kind::list) return out;
  Faults told_later;
  for (const Value& item : list.items) {
    const Entry entry = read_entry(item, "", told_later);
    if (entry.node == nullptr) continue;
    for (const int nodes : entry.nodes) out.insert(nodes * gpus_of_node(entry, catalogue));
  }
  return out;
}

Value candidate_tree(std::string_view text, const std::string& origin) {
  const std::size_t colon = text.find(':'), at = text.find('@');
  if (colon == text.npos || colon == 0 || (at != text.npos && at < colon)) {
    throw base::InputError({{origin,
                             base::quoted(text) + " does not say how many nodes",
                             "write NODE:COUNT,COUNT or NODE:COUNT@FABRIC, such as dgx-h100:32,64",
                             {}}});
  }
  Value out;
  out.kind = Value::Kind::map;
  out.where = out.key_where = {origin, 0, 0};
  set_path(out, "node", text.substr(0, colon), origin);
  const std::size_t end = std::min(at, text.size());
  set_path(out, "nodes", "[" + std::string(text.substr(colon + 1, end - colon - 1)) + "]", origin);
  if (at != text.npos) set_path(out, "fabric", "[" + std::string(text.substr(at + 1)) + "]", origin);
  return out;
}

}  // namespace config
