// SPDX-License-Identifier: Apache-2.0
#include "cli/launchable.h"

#include <fmt/format.h>

#include <string>
#include <vector>

#include "core/base/fault.h"
#include "core/config/launch/framework.h"

namespace cli {
namespace {

/// What is refused of the keys that a search chooses.
std::vector<std::string> refused(config::Value tree, const config::Catalogue& catalogue, const std::string& launcher,
                                 const result::Choices& strategy) {
  for (const auto& [key, value] : strategy) {
    config::set_path(tree, (key == "micro_batch" ? "training." : "strategy.") + key, value, "a strategy");
  }
  std::vector<std::string> out;
  try {
    config::launch::export_job(tree, catalogue, launcher);
  } catch (const base::InputError& error) {
    for (const base::Fault& fault : error.faults) {
      if (fault.field.starts_with("strategy.")) out.push_back(fault.field + ": " + fault.what);
    }
  }
  return out;
}

}  // namespace

void tell_unlaunchable(const config::Value& tree, const config::Catalogue& catalogue, const std::string& launcher,
                       result::Search& found) {
  if (launcher.empty()) return;
  std::size_t count = 0, first = found.results.size();  // that can be launched
  for (std::size_t i = 0; i < found.results.size(); ++i) {
    result::SearchRow& row = found.results[i];
    const std::vector<std::string> refusals = refused(tree, catalogue, launcher, row.strategy);
    for (const std::string& refusal : refusals) row.prediction.warnings.push_back(refusal);
    if (!refusals.empty()) {
      ++count;
    } else if (first > i) {
      first = i;
    }
  }
  if (count == 0) return;
  found.notes.push_back(fmt::format(
      "{} cannot say {} of the {} strategies shown (see their warnings; --fix and --allow keep to what it can){}",
      launcher, count, found.results.size(),
      first < found.results.size() ? fmt::format("; the first that it can is number {}", first + 1) : ""));
}

}  // namespace cli
