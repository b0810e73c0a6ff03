// core/config/launch/correspondence.h -- how a framework's options and the keys of a Job correspond: one data file a
// framework (workloads/launch), read by the exporter and by the importer, so that the two cannot drift apart.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "core/config/catalogue.h"
#include "core/config/launch/settings.h"

namespace config::launch {

/// One key of a Job and one option.
struct Line {
  enum class Form { value, on, off };  // on, off: the option is there when the key is true, or false
  std::string key, option;
  Form form = Form::value;
  std::optional<std::string> absent;  // what the framework does without the option, in the Job's words
  bool quiet = false;                 // not written where it says no more than `absent`
  std::string needs;                  // a key of the Job without which neither means anything
  std::vector<std::pair<std::string, std::string>> words;  // the Job's, the framework's; empty: the same
};

/// Keys of a Job that correspond to options only together, case by case. The value "$" stands for any one value, the
/// same on both sides.
struct Row {
  std::vector<Setting> job, options;
  bool import_only = false;  // another way to say what another row writes
};
struct Choice {
  std::string because;  // why there is nothing else
  std::string needs;
  std::vector<Row> rows;
};

struct Correspondence {
  std::string title;                                          // "Megatron-LM"
  std::string profile;                                        // of workloads/frameworks
  std::vector<std::variant<Line, Choice>> keys;               // in the order in which options are written
  std::vector<Setting> always;                                // written whatever the Job says
  std::vector<Setting> silence;                               // options whose value says no more than leaving them out
  std::vector<std::string> implied;                           // keys of a Job that the launch itself settles
  std::vector<std::string> script;                            // keys of a Job that belong to the user's training script
  std::vector<std::pair<std::string, std::string>> refusals;  // keys of a Job, and why there is no option
  std::vector<std::string> no_effect;                         // options without effect on time and memory
  std::vector<std::pair<std::string, std::string>> small_effect;  // options with an effect that no key has
  std::vector<std::pair<std::string, std::string>> not_taken;     // options that no Job can say
  std::vector<std::pair<std::string, std::string>>
      other_names;  // how else options are spelled; "not NAME": the reverse
};

/// Reads workloads/launch/NAME.yaml. Throws base::InputError with every fault.
Correspondence read_correspondence(const Catalogue&, std::string_view name);

/// Whether an option is one of these names; "lr-*" stands for all that begin so.
bool listed(const std::vector<std::string>& names, std::string_view option);
/// What stands beside such a name; nothing where it is not listed.
const std::string* beside(const std::vector<std::pair<std::string, std::string>>& names, std::string_view option);

}  // namespace config::launch
