// cli/open_job.h -- a Job some of whose keys a search chooses: --fix, --allow and --free, and --launchable beside them.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "cli/arguments.h"
#include "core/base/fault.h"
#include "core/config/catalogue.h"
#include "core/config/document.h"
#include "core/config/search_reader.h"

namespace cli {

/// The four options before `own`.
std::vector<Option> with_search_flags(std::vector<Option> own);

/// What --allow and --fix say that keys may be, in `space` from now on; until now it holds what the tree fixes. A key
/// of which two of them, or one of them and a flag or --set, say different things is a fault.
void read_chosen_values(const Arguments&, const config::Value& tree, spec::SearchSpace& space);

/// The options of with_search_flags() that are given: where nothing is searched they would be ignored.
std::vector<std::string> given_search_flags(const Arguments&);

/// The tree's keys are fixed but for those set free; --fix and --allow then say what each may be. Throws
/// base::InputError with every fault of the tree or the options; one of a Job made of flags alone names the flag that
/// mends it.
config::OpenJob open_job(const config::Value& tree, const Arguments&, const config::Catalogue&);

/// The faults of a search, which knows fields alone, each with what gave its field: --fix, --allow, or the tree's
/// place.
base::InputError placed(const base::InputError&, const config::Value& tree, const Arguments&);

}  // namespace cli
