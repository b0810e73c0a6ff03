// cli/launchable.h -- which strategies of a search the framework that is to run them cannot say.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "cli/arguments.h"
#include "core/base/fault.h"
#include "core/config/catalogue.h"
#include "core/config/document.h"
#include "core/result/search.h"

namespace cli {

inline constexpr char kLaunchable[] = "--launchable";

/// "--launchable": a search keeps to what the launcher can say.
Option launchable_option();

/// Whether the launcher of a Job's framework can say a strategy (`forerun export`). Any number of threads may ask.
class Launchable {
 public:
  /// `tree`: the Job whose other keys hold. Throws base::InputError where no launcher is known for `framework`.
  Launchable(const config::Value& tree, const config::Catalogue&, const spec::Framework& framework);

  bool operator()(const result::Choices&) const;

 private:
  const config::Value& tree_;
  const config::Catalogue catalogue_;  // which remembers
  const std::string launcher_;
};

/// A filter of this Job's search where `--launchable` was given, else none. `tree` and the catalogue outlive it.
std::function<bool(const result::Choices&)> launchable_alone(const Arguments&, const config::Value& tree,
                                                             const config::Catalogue&, const spec::Framework&);

/// Whether the launcher takes what such flags change of a Job as well as the Job itself; empty where none is known.
/// `tree` outlives it; one thread at a time asks.
std::function<bool(const std::string& flags)> sayable_changes(const config::Value& tree, const config::Catalogue&,
                                                              const std::string& launcher);

/// Throws base::InputError where some strategies fit and the launcher can say none.
void refuse_if_none_is_launchable(const result::Search&, const std::string& launcher);

/// Tells of each strategy shown what the launcher of the job's framework refuses (`forerun export`), as a warning, and
/// in a note how many those are. `tree`: the Job whose other keys hold. Nothing where no launcher is known.
void tell_unlaunchable(const config::Value& tree, const config::Catalogue&, const std::string& launcher,
                       result::Search&);

/// The same of the best of several searches: of each candidate of a plan, on each number of GPUs.
class UnlaunchableBest {
 public:
  explicit UnlaunchableBest(const config::Catalogue& catalogue) : catalogue_(catalogue) {}

  /// Warns of the first result. `where`: "32 x dgx-h100", "64 GPUs in strong scaling".
  void judge(const std::string& where, const config::Value& tree, const std::string& launcher, result::Search&);
  /// One note of all that were judged, or none.
  std::vector<std::string> notes() const;

 private:
  const config::Catalogue& catalogue_;
  std::string launcher_;
  std::vector<std::string> found_;  // "32 x dgx-h100 (schedule zb-h1)"
};

}  // namespace cli
