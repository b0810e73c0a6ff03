// reports/html/comparison_page.h -- the page of `forerun compare --html`.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <iosfwd>
#include <string>

#include "core/result/comparison.h"

namespace reports {

/// REQUIRES: html::has_vega()
void write_html(const result::Comparison&, const std::string& version, std::ostream&);

}  // namespace reports
