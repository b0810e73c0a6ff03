// reports/html/search_page.h -- the page of `forerun search --html`.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <iosfwd>
#include <string>

#include "core/result/search.h"

namespace reports {

/// REQUIRES: html::has_vega()
void write_html(const result::Search&, const std::string& version, std::ostream&);

}  // namespace reports
