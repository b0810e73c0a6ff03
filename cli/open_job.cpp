// SPDX-License-Identifier: Apache-2.0
#include "cli/open_job.h"

#include <algorithm>
#include <map>
#include <string>

#include "cli/job_flags.h"
#include "cli/launchable.h"
#include "cli/stated_dp.h"
#include "core/base/fault.h"
#include "core/config/job_reader.h"

namespace cli {
namespace {

const char kFix[] = "--fix", kAllow[] = "--allow", kFree[] = "--free";
using Given = std::map<spec::SearchKey, std::string>;  // the entry that says what a key may be: "tp=2,8"

/// Reads every entry of an option. Two for one key: which of them is meant?
Given read_entries(const Arguments& args, const std::string& option, spec::SearchSpace& space) {
  Given out;
  for (const std::string& entry : args.all(option)) {
    const spec::SearchKey key = config::read_values(entry, option, space);
    if (option == kFix && space[key]->size() > 1) {
      throw base::InputError({{option,
                               entry + " names several values, and a key is fixed to one",
                               "write --allow " + entry + " to search them",
                               {}}});
    }
    if (!out.emplace(key, entry).second) {
      const std::string name(spec::name(key));
      throw base::InputError(
          {{option, name + " is given twice", "keep one of the two, or --allow " + name + "=V1,V2", {}}});
    }
  }
  return out;
}

/// A flag that fixes a key to another value than those allowed. What a file says gives way.
void refuse_other_than_flags(const Given& given, const std::string& option, const config::Value& tree,
                             const spec::SearchSpace& before, const spec::SearchSpace& space) {
  for (const auto& [key, entry] : given) {
    const config::Value* written = config::written_at(tree, key);
    const bool by_flag = before[key] && written != nullptr && written->where.file.starts_with("--");
    if (by_flag && space[key] != before[key]) {
      throw base::InputError({{option, entry + " contradicts " + written->where.file, "keep one of the two", {}}});
    }
  }
}

config::OpenJob opened(const config::Value& tree, const Arguments& args, const config::Catalogue& catalogue) {
  try {
    return config::read_open_job(tree, catalogue);
  } catch (const base::InputError& error) {
    if (!args.operands().empty()) throw;
    throw told_as_flags(error);
  }
}

bool says_dp(const Arguments& args) {
  const auto of_dp = [](const std::string& entry) { return entry.starts_with("dp="); };
  return std::ranges::any_of(args.all(kFix), of_dp) || std::ranges::any_of(args.all(kAllow), of_dp);
}

}  // namespace

std::vector<Option> with_search_flags(std::vector<Option> own) {
  std::vector<Option> out{
      {kFix, "KEY=VALUE", "a key that is not searched: tp=8", true},
      {kAllow, "KEY=V1,V2", "the values that are searched: zero=1,3", true},
      {kFree, "KEY,KEY", "keys that the file fixes and that are searched all the same; or all", true},
      launchable_option()};
  out.insert(out.end(), own.begin(), own.end());
  return out;
}

void read_chosen_values(const Arguments& args, const config::Value& tree, spec::SearchSpace& space) {
  const spec::SearchSpace before = space;
  const Given allowed = read_entries(args, kAllow, space), fixed = read_entries(args, kFix, space);
  for (const auto& [key, entry] : fixed) {
    const auto other = allowed.find(key);
    if (other == allowed.end()) continue;
    const std::string name(spec::name(key));
    throw base::InputError({{kFix,
                             entry + " and --allow " + other->second + " both say what " + name + " may be",
                             "keep one of the two",
                             {}}});
  }
  refuse_other_than_flags(allowed, kAllow, tree, before, space);
  refuse_other_than_flags(fixed, kFix, tree, before, space);
}

std::vector<std::string> given_search_flags(const Arguments& args) {
  std::vector<std::string> out;
  for (const Option& option : with_search_flags({})) {
    if (args.has(option.name)) out.push_back(option.name);
  }
  return out;
}

config::OpenJob open_job(const config::Value& tree, const Arguments& args, const config::Catalogue& catalogue) {
  config::OpenJob out = opened(tree, args, catalogue);
  for (const std::string& keys : args.all(kFree)) {
    for (const spec::SearchKey key : config::read_keys(keys, kFree)) out.space.set_free(key);
  }
  read_chosen_values(args, tree, out.space);
  if (!says_dp(args)) let_dp_follow(tree, out);
  return out;
}

base::InputError placed(const base::InputError& error, const config::Value& tree, const Arguments& args) {
  std::vector<base::Fault> faults = error.faults;
  for (base::Fault& fault : faults) {
    if (!fault.where.file.empty()) continue;
    fault.where = config::place_of(tree, fault.field);
    for (const char* option : {kAllow, kFix}) {
      spec::SearchSpace said;
      for (const auto& [key, entry] : read_entries(args, option, said)) {
        if (spec::path_of(key) == fault.field) fault.where = {std::string(option) + ' ' + entry, 0, 0};
      }
    }
  }
  return base::InputError(std::move(faults));
}

}  // namespace cli
