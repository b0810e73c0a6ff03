// sim/validation/cross_validate.h -- `forerun validate --holdout`: the choices between models, made again without each
// group of measured steps. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "core/config/case_reader.h"
#include "core/config/choices_reader.h"
#include "core/result/holdout.h"
#include "core/result/validation.h"
#include "sim/validation/validate.h"

namespace sim {

/// Groups of at least 5 timed rows, by their label of `key`; other rows have no part. Where `key` is "source", the
/// share of rows in the 80 % interval is told as fit_interval() finds it, under the present choices. Throws
/// base::InputError when there are not two groups, or an alternative makes a Job faulty. REQUIRES: `validation` is
/// validate()'s answer to the same cases, which were read from `catalogue`; every part of `key` is one of
/// grouping_keys().
result::Holdout cross_validate(const std::vector<config::CaseFile>&, const result::Validation& validation,
                               std::vector<config::Choice>, const config::Catalogue& catalogue, const std::string& key,
                               const Progress& = {});

}  // namespace sim
