// reports/html/purchase_page.h -- the page of `forerun plan --html`.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <iosfwd>
#include <string>

#include "core/result/purchase.h"

namespace reports {

/// REQUIRES: html::has_vega()
void write_html(const result::Purchase&, const std::string& version, std::ostream&);

}  // namespace reports
