// SPDX-License-Identifier: Apache-2.0
#include "reports/strategy_words.h"

#include <algorithm>

namespace reports {

using Choices = std::vector<std::pair<std::string, std::string>>;

std::string value_of(const Choices& choices, const std::string& key) {
  const auto at = std::find_if(choices.begin(), choices.end(), [&](const auto& c) { return c.first == key; });
  return at == choices.end() ? "" : at->second;
}

std::string strategy_words(const Choices& c) {
  std::string out = "tp " + value_of(c, "tp") + (value_of(c, "sp") == "true" ? " sp" : "");
  if (value_of(c, "cp") != "1") out += ", cp " + value_of(c, "cp") + " " + value_of(c, "cp_kind");
  if (value_of(c, "pp") != "1") {
    out += ", pp " + value_of(c, "pp") + (value_of(c, "vpp") != "1" ? " x " + value_of(c, "vpp") : "") + " " +
           value_of(c, "schedule");
    if (value_of(c, "embedding_in_split") == "true") out += " ends counted";
  }
  out += ", dp " + value_of(c, "dp") + ", zero " + value_of(c, "zero");
  for (const char* key : {"shard", "ep", "etp", "offload"}) {
    if (const std::string value = value_of(c, key); !value.empty()) out += ", " + std::string(key) + " " + value;
  }
  out += ", micro_batch " + value_of(c, "micro_batch") + ", recompute " + value_of(c, "recompute") + ", " +
         value_of(c, "attention_kernel");
  const std::string overlap = value_of(c, "overlap.tp");
  return overlap.empty() || overlap == "none" ? out : out + ", overlap.tp " + overlap;
}

}  // namespace reports
