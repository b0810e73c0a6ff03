// SPDX-License-Identifier: Apache-2.0
#include "cli/launchable.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/job_flags.h"
#include "core/base/fault.h"
#include "core/config/launch/framework.h"

namespace cli {
namespace {

/// What the launcher refuses of the Job; none: it can say all of it.
std::vector<base::Fault> refused(const config::Value& tree, const config::Catalogue& catalogue,
                                 const std::string& launcher) {
  try {
    config::launch::export_job(tree, catalogue, launcher);
  } catch (const base::InputError& error) {
    return error.faults;
  }
  return {};
}

/// Of keys of the strategy, with this one in place of the Job's.
std::vector<base::Fault> refused(config::Value tree, const config::Catalogue& catalogue, const std::string& launcher,
                                 const result::Choices& strategy) {
  for (const auto& [key, value] : strategy) {
    config::set_path(tree, (key == "micro_batch" ? "training." : "strategy.") + key, value, "a strategy");
  }
  std::vector<base::Fault> out = refused(tree, catalogue, launcher);
  std::erase_if(out, [](const base::Fault& fault) { return !fault.field.starts_with("strategy."); });
  return out;
}

std::set<std::string> fields_of(const std::vector<base::Fault>& faults) {
  std::set<std::string> out;
  for (const base::Fault& fault : faults) out.insert(fault.field);
  return out;
}

/// The key that a search chooses: "recompute" of "strategy.recompute.kind".
const std::pair<std::string, std::string>* chosen(const result::Choices& strategy, const std::string& field) {
  const std::string path = field.substr(std::string_view("strategy.").size());
  const auto at = std::ranges::find_if(
      strategy, [&](const auto& choice) { return path == choice.first || path.starts_with(choice.first + '.'); });
  return at == strategy.end() ? nullptr : &*at;
}

/// Warns of it and collects what is to be said of it: "schedule zb-h1".
std::vector<std::string> tell(const std::vector<base::Fault>& faults, result::SearchRow& row) {
  std::vector<std::string> out;
  for (const base::Fault& fault : faults) {
    row.prediction.warnings.push_back(fault.field + ": " + fault.what);
    if (const auto* choice = chosen(row.strategy, fault.field)) out.push_back(choice->first + ' ' + choice->second);
  }
  return out;
}

}  // namespace

Option launchable_option() {
  return {kLaunchable, "", "only strategies that the launcher of the job's framework can say (forerun export)"};
}

Launchable::Launchable(const config::Value& tree, const config::Catalogue& catalogue, const spec::Framework& framework)
    : tree_(tree), catalogue_(catalogue.remembering()), launcher_(framework.launcher) {
  if (!launcher_.empty()) return;
  throw base::InputError({{kLaunchable,
                           "no launcher is known for framework " + framework.name,
                           "leave it out, or name a framework that has one: forerun export --help",
                           {}}});
}

bool Launchable::operator()(const result::Choices& strategy) const {
  return refused(tree_, catalogue_, launcher_, strategy).empty();
}

std::function<bool(const result::Choices&)> launchable_alone(const Arguments& args, const config::Value& tree,
                                                             const config::Catalogue& catalogue,
                                                             const spec::Framework& framework) {
  if (!args.has(kLaunchable)) return {};
  const auto filter = std::make_shared<Launchable>(tree, catalogue, framework);
  return [filter](const result::Choices& strategy) { return (*filter)(strategy); };
}

std::function<bool(const std::string& flags)> sayable_changes(const config::Value& tree,
                                                              const config::Catalogue& catalogue,
                                                              const std::string& launcher) {
  if (launcher.empty()) return {};
  // Most jobs fit, and nobody asks.
  return [&tree, known = catalogue.remembering(), launcher,
          before = std::optional<std::set<std::string>>()](const std::string& flags) mutable {
    if (!before) before = fields_of(refused(tree, known, launcher));
    return std::ranges::includes(*before, fields_of(refused(with_flags(tree, flags, known), known, launcher)));
  };
}

void refuse_if_none_is_launchable(const result::Search& found, const std::string& launcher) {
  if (found.unwanted == 0 || found.priced > 0 || !found.complete) return;
  throw base::InputError({{kLaunchable,
                           fmt::format("{} can say none of the {} strategies that fit", launcher, found.unwanted),
                           "leave it out to see them, or fix fewer keys",
                           {}}});
}

void tell_unlaunchable(const config::Value& tree, const config::Catalogue& catalogue, const std::string& launcher,
                       result::Search& found) {
  if (launcher.empty()) return;
  std::size_t count = 0, first = found.results.size();  // that can be launched
  for (std::size_t i = 0; i < found.results.size(); ++i) {
    result::SearchRow& row = found.results[i];
    const std::vector<base::Fault> faults = refused(tree, catalogue, launcher, row.strategy);
    tell(faults, row);
    if (!faults.empty()) {
      ++count;
    } else if (first > i) {
      first = i;
    }
  }
  if (count == 0) return;
  found.notes.push_back(
      fmt::format("{} cannot say {} of the {} strategies shown (see their warnings; {} keeps to what it can){}",
                  launcher, count, found.results.size(), kLaunchable,
                  first < found.results.size() ? fmt::format("; the first that it can is number {}", first + 1) : ""));
}

void UnlaunchableBest::judge(const std::string& where, const config::Value& tree, const std::string& launcher,
                             result::Search& found) {
  if (launcher.empty() || found.results.empty()) return;
  result::SearchRow& best = found.results.front();
  const std::vector<base::Fault> faults = refused(tree, catalogue_, launcher, best.strategy);
  if (faults.empty()) return;
  launcher_ = launcher;
  const std::vector<std::string> why = tell(faults, best);
  found_.push_back(why.empty() ? where : fmt::format("{} ({})", where, fmt::join(why, ", ")));
}

std::vector<std::string> UnlaunchableBest::notes() const {
  if (found_.empty()) return {};
  return {fmt::format("{} cannot say the best {} of {}: {} keeps to what it can", launcher_,
                      found_.size() == 1 ? "strategy" : "strategies", fmt::join(found_, ", "), kLaunchable)};
}

}  // namespace cli
