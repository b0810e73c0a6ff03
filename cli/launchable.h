// cli/launchable.h -- which strategies of a search the framework that is to run them cannot say.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/config/catalogue.h"
#include "core/config/document.h"
#include "core/result/search.h"

namespace cli {

/// Tells of each strategy shown what the launcher of the job's framework refuses (`forerun export`), as a warning, and
/// in a note how many those are. `tree`: the Job whose other keys hold. Nothing where no launcher is known.
void tell_unlaunchable(const config::Value& tree, const config::Catalogue&, const std::string& launcher,
                       result::Search&);

}  // namespace cli
