// cli/number.h -- a word of the command line as a number within limits.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <optional>
#include <string>
#include <string_view>

#include "cli/arguments.h"
#include "core/base/fault.h"
#include "core/base/number.h"

namespace cli {

inline constexpr unsigned kMostThreads = 1024;

/// Nothing: the text is no number, or not from `least` to `most`.
template <class T>
std::optional<T> number_in(std::string_view text, T least, T most) {
  const std::optional<T> value = base::number_in<T>(text);
  if (!value || !(*value >= least && *value <= most)) return std::nullopt;  // nan is no number either
  return value;
}

/// `usual` where the option was not given. Throws base::InputError: no number, or not from `least` to `most`.
template <class T>
T number_of(const Arguments& args, const std::string& option, T usual, T least, T most) {
  if (!args.has(option)) return usual;
  const std::string text = args.get(option);
  if (const std::optional<T> value = number_in(text, least, most)) return *value;
  throw base::InputError({{option,
                           fmt::format("'{}' is no number from {} to {}", text, least, most),
                           fmt::format("write {} {}", option, usual),
                           {}}});
}

}  // namespace cli
