// SPDX-License-Identifier: Apache-2.0
#include "cli/open_job.h"

#include <string>

namespace cli {

std::vector<Option> with_search_flags(std::vector<Option> own) {
  std::vector<Option> out{
      {"--fix", "KEY=VALUE", "a key that is not searched: tp=8", true},
      {"--allow", "KEY=V1,V2", "the values that are searched: zero=1,3", true},
      {"--free", "KEY,KEY", "keys that the file fixes and that are searched all the same; or all", true}};
  out.insert(out.end(), own.begin(), own.end());
  return out;
}

void read_chosen_values(const Arguments& args, spec::SearchSpace& space) {
  for (const std::string& values : args.all("--allow")) config::read_values(values, "--allow", space);
  for (const std::string& value : args.all("--fix")) config::read_values(value, "--fix", space);
}

config::OpenJob open_job(const config::Value& tree, const Arguments& args, const config::Catalogue& catalogue) {
  config::OpenJob out = config::read_open_job(tree, catalogue);
  for (const std::string& keys : args.all("--free")) {
    for (const spec::SearchKey key : config::read_keys(keys, "--free")) out.space[key].reset();
  }
  read_chosen_values(args, out.space);
  return out;
}

}  // namespace cli
