// SPDX-License-Identifier: Apache-2.0
#include "cli/path_flags.h"

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

namespace cli {

std::vector<Setting> settings_of(const Arguments& args, std::span<const PathFlag> flags) {
  std::vector<Setting> out;
  for (const PathFlag& flag : flags) {
    if (!args.has(flag.name)) continue;
    const bool switches = *flag.value == '\0';
    out.push_back(
        {flag.path, switches ? "true" : args.get(flag.name), flag.name + (switches ? "" : ' ' + args.get(flag.name))});
  }
  for (const std::string& entry : args.all(kSet)) {
    const std::size_t equals = entry.find('=');
    const bool whole = equals != std::string::npos && equals > 0;
    out.push_back({whole ? entry.substr(0, equals) : "", whole ? entry.substr(equals + 1) : entry,
                   std::string(kSet) + ' ' + entry});
  }
  std::ranges::stable_sort(out, {}, [](const Setting& s) { return std::ranges::count(s.path, '.'); });
  return out;
}

void lay_over(config::Value& tree, const Arguments& args, std::span<const PathFlag> flags) {
  std::vector<base::Fault> faults;
  for (const Setting& setting : settings_of(args, flags)) {
    if (setting.path.empty()) {
      const char* lacks = setting.value.starts_with('=') ? "' names no key" : "' has no value";
      faults.push_back({kSet, "'" + setting.value + lacks, "write path=value, such as strategy.tp=8", {}});
    } else if (const auto fault = without_its_map(flags, kSet, setting.path);
               fault && setting.origin.starts_with(kSet)) {
      faults.push_back(*fault);
    } else {
      base::or_faults(faults, [&] { config::set_path(tree, setting.path, setting.value, setting.origin); });
    }
  }
  if (!faults.empty()) throw base::InputError(std::move(faults));
}

void check_overridden(const config::Value& tree, const Arguments& args, std::span<const PathFlag> flags,
                      const std::function<void(const config::Value&)>& read) {
  const std::vector<Setting> all = settings_of(args, flags);
  std::vector<base::Fault> faults;
  for (auto one = all.begin(); one != all.end(); ++one) {
    const auto again = [&](const Setting& later) { return later.path == one->path && later.value != one->value; };
    const bool is_map = one->value.starts_with('{');  // it may lack what others add
    if (is_map || std::none_of(one + 1, all.end(), again)) continue;
    config::Value its = tree;
    config::set_path(its, one->path, one->value, one->origin);
    try {
      read(its);
    } catch (const base::InputError& error) {
      std::ranges::copy_if(error.faults, std::back_inserter(faults),
                           [&](const base::Fault& fault) { return fault.where.file == one->origin; });
    }
  }
  if (!faults.empty()) throw base::InputError(std::move(faults));
}

std::optional<base::Fault> without_its_map(std::span<const PathFlag> flags, const std::string& option,
                                           const std::string& path) {
  for (const PathFlag& flag : flags) {
    const std::string whole = flag.path;
    if (whole.ends_with('.' + path)) {
      return base::Fault{option, "there is no field '" + path + "'", "did you mean " + whole + "?", {}};
    }
  }
  return {};
}

base::InputError told_as_flags(const base::InputError& error, std::span<const PathFlag> flags,
                               const std::string& otherwise) {
  std::vector<base::Fault> faults = error.faults;
  for (base::Fault& fault : faults) {
    if (fault.what != "is missing") continue;
    const auto flag =
        std::find_if(flags.begin(), flags.end(), [&](const PathFlag& f) { return f.path == fault.field; });
    if (flag != flags.end()) fault.mend = std::string("add ") + flag->name + ' ' + flag->value + otherwise;
  }
  return base::InputError(std::move(faults));
}

}  // namespace cli
