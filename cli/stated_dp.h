// cli/stated_dp.h -- a dp that a Job's file states beside degrees or nodes that the command line changes.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/config/catalogue.h"
#include "core/config/document.h"
#include "core/config/search_reader.h"

namespace cli {

/// A stated dp is checked against the file's own degrees and GPUs. Where a flag, --set or --vary gives others and no
/// dp, and the file's no longer goes with them, it is taken out of the tree: it is then what they leave of the GPUs.
void let_dp_follow(config::Value& tree, const config::Catalogue&);

/// The same for a search: the file's dp is set free where it goes with none of the tp, cp and pp that may be chosen.
/// What --fix or --allow say of dp stays. REQUIRES: the space holds what the options say.
void let_dp_follow(const config::Value& tree, config::OpenJob&);

/// Takes it out, whoever gave it.
void drop_dp(config::Value& tree);

}  // namespace cli
