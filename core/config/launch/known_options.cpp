// SPDX-License-Identifier: Apache-2.0
#include "core/config/launch/known_options.h"

#include <algorithm>
#include <variant>

#include "core/base/text.h"
#include "core/config/huggingface.h"
#include "core/config/launch/framework.h"

namespace config::launch {
namespace {

bool named(const std::vector<Setting>& settings, std::string_view option) {
  return std::ranges::any_of(settings, [&](const Setting& setting) { return setting.name == option; });
}

bool reads(const Framework& framework, const std::string& path, const Catalogue& catalogue) {
  try {
    const Correspondence table = read_correspondence(catalogue, framework.table);
    GivenVariables none;
    const Settings options = framework.parse(path, none);
    return std::ranges::any_of(options.all(), [&](const Setting& option) { return knows(table, option.name); });
  } catch (const base::InputError&) {
    return false;  // not even its language
  }
}

/// "forerun import deepspeed reads some of them; ": the formats that know an option of the file.
std::string others(const std::string& path, const Catalogue& catalogue) {
  std::vector<std::string> formats;
  for (const Framework* framework : frameworks()) {
    if (framework->parse && reads(*framework, path, catalogue)) formats.emplace_back(framework->name);
  }
  try {
    if (is_huggingface(load(path))) formats.insert(formats.begin(), "huggingface");
  } catch (const base::InputError&) {
    // no YAML and no JSON
  }
  return formats.empty() ? "" : "some are known to forerun import " + base::joined(formats, ", ") + ": ";
}

}  // namespace

std::vector<std::string> options_of_keys(const Correspondence& table) {
  std::vector<std::string> out;
  for (const auto& item : table.keys) {
    if (const Line* line = std::get_if<Line>(&item)) out.push_back(line->option);
    if (const Choice* choice = std::get_if<Choice>(&item)) {
      for (const Row& row : choice->rows) {
        for (const Setting& option : row.options) out.push_back(option.name);
      }
    }
  }
  return out;
}

bool knows(const Correspondence& table, std::string_view option) {
  return std::ranges::count(options_of_keys(table), option) > 0 || named(table.always, option) ||
         named(table.silence, option) || listed(table.no_effect, option) || beside(table.small_effect, option) ||
         beside(table.not_taken, option) || beside(table.other_names, option);
}

void refuse_strange(const Import& i, const std::string& path) {
  const bool any = std::ranges::any_of(
      i.options.all(), [&](const Setting& option) { return option.taken || knows(i.table, option.name); });
  if (any) return;
  throw base::InputError({{"FILE",
                           "has no option of " + i.table.title,
                           others(path, i.catalogue) + "name another file, or another format",
                           {path, 0, 0}}});
}

}  // namespace config::launch
