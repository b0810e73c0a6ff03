// core/config/launch/import.h -- a framework's options on their way into a Job, by the framework's correspondence.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/config/launch/correspondence.h"
#include "core/config/map_reader.h"

namespace config::launch {

struct Import {
  const Correspondence& table;
  const Catalogue& catalogue;
  Settings options;                     // as the file has them, with their places; what was understood is taken
  std::int64_t gpus = 0;                // of the cluster that the user names; 0: unknown
  std::int64_t nodes = 1;               // of that cluster
  bool has_cudnn = true;                // its GPUs, where they are known
  std::int64_t ranks_of_a_replica = 1;  // tp x cp x pp that the user names
  std::vector<std::string> ignored;     // that the user says have no effect; "all"
  Settings given = {};                  // keys of the Job that the user gives
  bool is_script = false;               // whose variables may be given, too
  Settings keys = {};                   // of the Job. Those without a place are what the framework does unasked
  Faults faults = {};
  std::vector<std::string> notes = {};
  int without_effect = 0;                         // options known to have none
  std::optional<base::Fault> unknown_model = {};  // that the file names, unless the user says what it is
  std::vector<std::string> also_known = {};       // options that no table has, to be offered for misspelt ones
  std::vector<std::string> left_out = {};         // options that would have been told, but are among `ignored`

  void refuse(const std::string& option, std::string what, std::string mend);
  /// Of a value with a variable or a command in it, which nothing tells.
  base::Fault not_told(const std::string& option, const Value&) const;
  /// The count that the user gives at a key of the Job.
  std::optional<std::int64_t> given_count(const std::string& key) const;
  /// A whole number; a fault and nothing otherwise. Counts as taken.
  std::optional<std::int64_t> number(const std::string& option);
};

/// Spelling as the table has it, and values that say no more than silence are gone.
void unify(Import&);
/// Reads the table's keys that are not there yet.
void read_keys(Import&);
/// What is left: counted where it has no effect, told where it has a small one or the user ignores it, a fault
/// otherwise.
void account_for_rest(Import&);

}  // namespace config::launch
