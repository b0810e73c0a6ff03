// core/base/listed.h -- words in a sentence. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace base {

/// "a, b or c", where `last` is " or "; empty for none.
std::string listed(const std::vector<std::string>& words, std::string_view last);

}  // namespace base
