// core/config/launch/export.h -- a Job on its way into a framework's options, by the framework's correspondence.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "core/config/launch/correspondence.h"
#include "core/config/map_reader.h"
#include "core/spec/job.h"

namespace config::launch {

struct Export {
  const Correspondence& table;
  const Catalogue& catalogue;
  const spec::Job& job;  // resolved under the framework's profile
  const Value& written;  // the tree that it was read from
  Settings keys;         // of the Job; what was written is taken
  Settings options;      // of the framework
  Faults faults;         // fields are keys of the Job, without places
  std::vector<std::string> notes;

  /// A key's value that the framework cannot say. Where nobody wrote it, that is a note, unless what is run would be
  /// another model, another cut or another precision.
  void refuse(const std::string& key, const std::string& why, const std::string& mend);
};

/// Writes the table's keys that nothing else has taken, in its order.
void write_keys(Export&);

/// What no option says is a fault, unless it is what the framework does anyway: `usual` are the settings of the Job
/// without anything that its framework has a default for. Tells the keys that are the training script's.
void refuse_rest(Export&, const Settings& usual);

}  // namespace config::launch
