// SPDX-License-Identifier: Apache-2.0
// What a misspelt name was meant to be: the way a fault says how to mend it.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace base {

/// Small letters, and one sign between words: "bf16" of BF16, "zb_v" of zb-v.
std::string spelled_alike(std::string_view name);

/// The known name that `name` was meant to be, if one is near enough: spelled alike but for small letters and - for _,
/// longer by a word (h100-sxm of h100), or nearest by edit distance with at most a third of its letters wrong, one of
/// up to four. Two neighbours that changed places are one letter.
std::optional<std::string> nearest(std::string_view name, const std::vector<std::string>& known);
/// "did you mean tp?" where a known name is near, else `otherwise`.
std::string nearest_or(std::string_view name, const std::vector<std::string>& known, const std::string& otherwise);
/// `always`, behind "did you mean tp? " where a known name is near.
std::string nearest_and(std::string_view name, const std::vector<std::string>& known, const std::string& always);
/// Words of several letters, a digit among them, in small letters: {"gb200", "nvl72"} of "GB200-NVL72".
std::set<std::string> numbered_words(std::string_view name);
/// "did you mean dgx-h100, nd-h100-v5 or h100-nvl-x8?" of hardware and models: the known names that share the most of
/// its words with a digit (h100, gb200, 7b), else the nearest one; empty where none can be meant.
std::string did_you_mean(std::string_view name, const std::vector<std::string>& known);

}  // namespace base
