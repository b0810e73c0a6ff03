// reports/ranking.h -- how well predictions choose among published strategies of one model on one cluster.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "core/result/validation.h"

namespace reports {

/// A row for each ranking, as Markdown: Kendall's tau and what the first choice loses against the best measured one;
/// then the mean of the one and how many of the other are within 3 %.
std::string ranking_markdown(const result::Validation&);

}  // namespace reports
