// SPDX-License-Identifier: Apache-2.0
#include "cli/open_job.h"

#include <algorithm>
#include <set>
#include <string>

#include "cli/stated_dp.h"
#include "core/base/fault.h"

namespace cli {
namespace {

/// Two entries of one option for one key: which of them is meant?
void refuse_keys_twice(const Arguments& args, const std::string& option) {
  std::set<std::string> seen;
  for (const std::string& entry : args.all(option)) {
    const std::string key = entry.substr(0, entry.find('='));
    if (!seen.insert(key).second) {
      throw base::InputError(
          {{option, key + " is given twice", "keep one of the two, or --allow " + key + "=V1,V2", {}}});
    }
  }
}

bool says_dp(const Arguments& args) {
  const auto of_dp = [](const std::string& entry) { return entry.starts_with("dp="); };
  return std::ranges::any_of(args.all("--fix"), of_dp) || std::ranges::any_of(args.all("--allow"), of_dp);
}

}  // namespace

std::vector<Option> with_search_flags(std::vector<Option> own) {
  std::vector<Option> out{
      {"--fix", "KEY=VALUE", "a key that is not searched: tp=8", true},
      {"--allow", "KEY=V1,V2", "the values that are searched: zero=1,3", true},
      {"--free", "KEY,KEY", "keys that the file fixes and that are searched all the same; or all", true}};
  out.insert(out.end(), own.begin(), own.end());
  return out;
}

void read_chosen_values(const Arguments& args, spec::SearchSpace& space) {
  refuse_keys_twice(args, "--allow");
  refuse_keys_twice(args, "--fix");
  for (const std::string& values : args.all("--allow")) config::read_values(values, "--allow", space);
  for (const std::string& value : args.all("--fix")) config::read_values(value, "--fix", space);
}

config::OpenJob open_job(const config::Value& tree, const Arguments& args, const config::Catalogue& catalogue) {
  config::OpenJob out = config::read_open_job(tree, catalogue);
  for (const std::string& keys : args.all("--free")) {
    for (const spec::SearchKey key : config::read_keys(keys, "--free")) out.space[key].reset();
  }
  read_chosen_values(args, out.space);
  if (!says_dp(args)) let_dp_follow(tree, out);
  return out;
}

}  // namespace cli
