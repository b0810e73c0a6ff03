// reports/schedule.h -- a step's pipeline as characters: stages from top to bottom, time from left to right.
//
//   stage 0  F0F1F2····B0▓▓F3B1▓▓··B2▓▓··B3▓▓OO
//   stage 1  ··F0F1B0▓▓F2B1▓▓F3B2▓▓··B3▓▓····OO
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>

#include "core/result/schedule.h"
#include "reports/style.h"
#include "reports/timeline.h"

namespace reports {

/// A line a stage, two where forwards run beside backwards; the whole step unless a window is given.
std::string text(const result::Schedule&, const Style&, std::optional<Window> = {});

/// Every pass with its instants: one JSON object, indented, with a newline at its end.
std::string json(const result::Schedule&);

}  // namespace reports
