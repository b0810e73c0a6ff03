// reports/html/validation_page.h -- the page of `forerun validate --html`.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "core/result/validation.h"

namespace reports {

/// REQUIRES: html::has_vega()
void write_html(const result::Validation&, const std::vector<result::ValidationGrouping>&, const std::string& version,
                std::ostream&);

}  // namespace reports
