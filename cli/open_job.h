// cli/open_job.h -- a Job some of whose keys a search chooses: --fix, --allow and --free.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "cli/arguments.h"
#include "core/config/catalogue.h"
#include "core/config/document.h"
#include "core/config/search_reader.h"

namespace cli {

/// The three options before `own`.
std::vector<Option> with_search_flags(std::vector<Option> own);

/// What --allow and --fix say that keys may be.
void read_chosen_values(const Arguments&, spec::SearchSpace&);

/// The tree's keys are fixed but for those set free; --fix and --allow then say what each may be. Throws
/// base::InputError with every fault of the tree or the options.
config::OpenJob open_job(const config::Value& tree, const Arguments&, const config::Catalogue&);

}  // namespace cli
