// reports/html/escape.h -- names from files become text of a page, never markup.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

#include "reports/json_object.h"

namespace reports::html {

/// For content and for attributes in quotes: & < > " ' become entities; control characters that HTML forbids and bytes
/// that are not UTF-8 become U+FFFD.
std::string escaped(std::string_view text);

/// JSON that may stand inside <script>: no `<` is left, so nothing in it ends the element or opens a comment.
std::string script_json(const Json&);
/// A JSON string with its quotes, likewise.
std::string script_string(std::string_view text);

}  // namespace reports::html
