// cli/html.h -- what every `--html FILE` does alike.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <iosfwd>

#include "cli/arguments.h"

namespace cli {

Option html_option();

/// Throws base::InputError where `--html` is asked for and this build has no charts, before anything is worked out.
void check_html(const Arguments&);

/// Writes the page where `--html` says, if it does.
void write_page(const Arguments&, const std::function<void(std::ostream&)>& write);

/// As a page's foot says it.
const char* version();

}  // namespace cli
