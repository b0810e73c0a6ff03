// cli/number.h -- an option's value as a number within limits.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <charconv>
#include <string>

#include "cli/arguments.h"
#include "core/base/fault.h"

namespace cli {

/// `usual` where the option was not given. Throws base::InputError: no number, or not from `least` to `most`.
template <class T>
T number_of(const Arguments& args, const std::string& option, T usual, T least, T most) {
  if (!args.has(option)) return usual;
  const std::string text = args.get(option);
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc() && end == text.data() + text.size() && value >= least && value <= most) return value;
  throw base::InputError({{option,
                           "'" + text + "' is no number from " + std::to_string(least) + " to " + std::to_string(most),
                           "write " + option + " " + std::to_string(usual),
                           {}}});
}

}  // namespace cli
