// core/config/case_reader.h -- a validation file: `source:` and `cases:`, each a Job and what was measured of it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/config/catalogue.h"
#include "core/config/document.h"
#include "core/result/validation.h"
#include "core/spec/job.h"

namespace config {

/// What a case states is in `row`. Without a Job, row.error_message holds every fault of the case.
struct Case {
  result::ValidationCase row;
  std::optional<spec::Job> job;
  Value written = {};                  // the Job's tree, to be read again under other values of the catalogue
  std::set<std::string> entries = {};  // of the catalogue that the Job was read from, as "frameworks.torch"
};

struct CaseFile {
  std::string path;
  result::Labels source;  // as the file has it; deeper maps as "paper.title", lists joined by ", "
  std::vector<Case> cases;
};

/// Reads the cases on all cores. Throws base::InputError only when the file itself is broken (not YAML, no list of
/// cases, an unknown key beside them); a fault inside a case becomes its row.
CaseFile read_cases(const std::string& path, const Catalogue&);
/// The same from a tree.
CaseFile read_cases(const Value& tree, const std::string& path, const Catalogue&);

}  // namespace config
