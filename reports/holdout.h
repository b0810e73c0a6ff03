// reports/holdout.h -- cross-validation of the choices between models, for people and for programs.
//
//   Left out, choices made on the others   rows catalogue in-sample held out  signed  in 80%  without
//   bloom-176b                               33    14.6 %    14.6 %   16.1 %  -15.9 %  78.8 %   78.8 %
//     deepspeed-host: 30us
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "core/result/holdout.h"
#include "reports/json_object.h"
#include "reports/style.h"

namespace reports {

/// A row for each group with what the others would change, the mean of groups; then each choice's alternatives alone.
std::string holdout_text(const result::Holdout&, const Style& = {});

/// The keys of docs/validation.md.
Json holdout_json(const result::Holdout&);

}  // namespace reports
