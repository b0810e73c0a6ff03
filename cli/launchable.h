// cli/launchable.h -- which strategies of a search the framework that is to run them cannot say.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/base/fault.h"
#include "core/config/catalogue.h"
#include "core/config/document.h"
#include "core/result/search.h"

namespace cli {

/// How a search keeps to what the launcher can say: `--allow` for every key of which it refused a value.
class Restriction {
 public:
  /// Values that were tried: the others are left out for a reason.
  void note_tried(const std::vector<result::SearchedKey>& space);
  /// The mend of a fault names the values that it can say; some do not.
  void note_refused(const std::string& key, const base::Fault&);
  /// "--allow schedule=1f1b,interleaved --allow zero=0,3 keep to what it can"
  std::string words() const;

 private:
  std::map<std::string, std::set<std::string>> tried_;
  std::map<std::string, std::vector<std::string>> sayable_;  // of keys that were refused
};

/// Tells of each strategy shown what the launcher of the job's framework refuses (`forerun export`), as a warning, and
/// in a note how many those are and how to keep to what it can say. `tree`: the Job whose other keys hold. Nothing
/// where no launcher is known.
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
  Restriction restriction_;
};

}  // namespace cli
