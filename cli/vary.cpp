// SPDX-License-Identifier: Apache-2.0
#include "cli/vary.h"

#include <algorithm>
#include <cstddef>
#include <string_view>

#include "cli/job_flags.h"
#include "core/base/fault.h"
#include "core/base/repeated.h"
#include "core/base/trimmed.h"

namespace cli {
namespace {

const char kVary[] = "--vary";
constexpr std::size_t kMostCombinations = 10000;  // each is a whole prediction

/// "strategy.recompute.layers" is below "strategy.recompute".
bool is_below(const std::string& path, const std::string& other) { return path.starts_with(other + '.'); }

/// At commas outside of brackets and quotes.
std::vector<std::string> split(std::string_view text) {
  std::vector<std::string> out;
  int depth = 0;
  char quote = 0;
  std::size_t begin = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quote) {
      if (c == quote) quote = 0;
    } else if (c == '"' || c == '\'') {
      quote = c;
    } else if (c == '[' || c == '{') {
      ++depth;
    } else if (c == ']' || c == '}') {
      --depth;
    } else if (c == ',' && depth == 0) {
      out.emplace_back(base::trimmed(text.substr(begin, i - begin)));
      begin = i + 1;
    }
  }
  out.emplace_back(base::trimmed(text.substr(begin)));
  return out;
}

}  // namespace

Option vary_option() {
  return {kVary, "PATH=V1,V2", "a field of the Job with several values: strategy.tp=1,2,4; all combinations of several",
          true};
}

std::vector<Variation> variations(const Arguments& args) {
  std::vector<Variation> out;
  std::vector<base::Fault> faults;
  for (const std::string& entry : args.all(kVary)) {
    const std::size_t equals = entry.find('=');
    const std::string path(base::trimmed(std::string_view(entry).substr(0, equals)));
    const auto same = [&](const Variation& v) { return v.path == path; };
    if (equals == std::string::npos) {
      faults.push_back(
          {kVary, "'" + entry + "' has no values", "write path=value,value, such as strategy.tp=1,2,4", {}});
      continue;
    }
    if (const auto fault = without_its_map(kVary, path)) faults.push_back(*fault);
    for (const std::string& setting : job_settings(args)) {
      const std::string set = setting.substr(0, setting.find('='));
      if (set != path && !is_below(set, path)) continue;  // what lies in it is laid over it
      faults.push_back({kVary,
                        path + " is varied, and " + (set == path ? "it" : set) + " is set by a flag as well",
                        "leave out the flag, or put its value among those of --vary",
                        {}});
    }
    if (std::any_of(out.begin(), out.end(), same)) {
      faults.push_back({kVary, path + " is varied twice", "put all its values behind one --vary", {}});
    }
    out.push_back({path, split(entry.substr(equals + 1))});
    const auto& values = out.back().values;
    for (const std::size_t i : base::repeated(values)) {
      if (values[i].empty()) continue;  // told below
      faults.push_back({kVary, "'" + entry + "' has the value " + values[i] + " twice", "write it once", {}});
    }
    if (std::find(values.begin(), values.end(), "") != values.end()) {
      faults.push_back(
          {kVary, "'" + entry + "' has an empty value", "remove the comma, or write null to leave the field out", {}});
    }
  }
  std::size_t count = 1;
  for (const Variation& v : out) count = std::min(count * v.values.size(), kMostCombinations + 1);
  if (count > kMostCombinations) {
    faults.push_back({kVary,
                      "there are more than " + std::to_string(kMostCombinations) + " combinations",
                      "vary fewer fields, or give them fewer values",
                      {}});
  }
  if (!faults.empty()) throw base::InputError(std::move(faults));
  return out;
}

std::vector<Combination> combinations(const std::vector<Variation>& varied) {
  std::vector<Combination> out{{}};
  for (const Variation& variation : varied) {
    std::vector<Combination> longer;
    for (const Combination& one : out) {
      for (const std::string& value : variation.values) {
        longer.push_back(one);
        longer.back().emplace_back(variation.path, value);
      }
    }
    out = std::move(longer);
  }
  return out;
}

void lay_over(config::Value& job, const Combination& combination) {
  for (const auto& [path, value] : combination) config::set_path(job, path, value, std::string(kVary) + ' ' + path);
}

}  // namespace cli
