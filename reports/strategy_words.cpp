// SPDX-License-Identifier: Apache-2.0
#include "reports/strategy_words.h"

#include <algorithm>

namespace reports {

using Choices = std::vector<std::pair<std::string, std::string>>;

namespace {

/// "[3, 4, 4, 2]" as "3+2x4+2".
std::string short_list(const std::string& list) {
  std::string out;
  for (std::size_t at = 1, end, times; at < list.size(); at = end) {
    std::string entry;
    for (times = 0, end = at; end < list.size(); ++times) {
      const std::size_t close = list.find_first_of(",]", end);
      const std::string next = list.substr(end, close - end);
      if (times > 0 && next != entry) break;
      entry = next;
      end = list.find_first_not_of(", ]", close);
    }
    out += (out.empty() ? "" : "+") + (times > 1 ? std::to_string(times) + "x" : "") + entry;
  }
  return out;
}

}  // namespace

std::string value_of(const Choices& choices, const std::string& key) {
  const auto at = std::find_if(choices.begin(), choices.end(), [&](const auto& c) { return c.first == key; });
  return at == choices.end() ? "" : at->second;
}

/// "selective [layernorm, mlp]" for {kind: selective, modules: [layernorm, mlp]}.
std::string recompute_words(const std::string& value) {
  const std::string modules = "{kind: selective, modules: ";
  if (!value.starts_with(modules)) return value;
  return "selective " + value.substr(modules.size(), value.size() - modules.size() - 1);
}

std::string strategy_words(const Choices& c) {
  std::string out = "tp " + value_of(c, "tp") + (value_of(c, "sp") == "true" ? " sp" : "");
  if (value_of(c, "cp") != "1") out += ", cp " + value_of(c, "cp") + " " + value_of(c, "cp_kind");
  if (value_of(c, "pp") != "1") {
    out += ", pp " + value_of(c, "pp") + (value_of(c, "vpp") != "1" ? " x " + value_of(c, "vpp") : "") + " " +
           value_of(c, "schedule");
    if (value_of(c, "embedding_in_split") == "true") out += " ends counted";
    if (const std::string layers = value_of(c, "stage_layers"); !layers.empty()) out += " layers " + short_list(layers);
  }
  out += ", dp " + value_of(c, "dp") + ", zero " + value_of(c, "zero");
  for (const char* key : {"shard", "ep", "etp", "offload"}) {
    if (const std::string value = value_of(c, key); !value.empty()) out += ", " + std::string(key) + " " + value;
  }
  out += ", micro_batch " + value_of(c, "micro_batch") + ", recompute " + recompute_words(value_of(c, "recompute"));
  if (const std::string kernel = value_of(c, "attention_kernel"); !kernel.empty()) out += ", " + kernel;
  const std::string overlap = value_of(c, "overlap.tp");
  const bool idle = overlap == "none" && value_of(c, "tp") == "1";  // otherwise it may not be the framework's default
  return overlap.empty() || idle ? out : out + ", overlap.tp " + overlap;
}

}  // namespace reports
