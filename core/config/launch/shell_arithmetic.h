// core/config/launch/shell_arithmetic.h -- $((a * b / c)) of a shell.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace config::launch {

/// The value of an expression of whole numbers, names (with or without $), + - * / % and parentheses; nothing where it
/// has something else, divides by zero or leaves 64 bits. `value_of`: of a name, nothing where it is not known.
std::optional<std::int64_t> shell_arithmetic(
    std::string_view text, const std::function<std::optional<std::string>(const std::string&)>& value_of);

}  // namespace config::launch
