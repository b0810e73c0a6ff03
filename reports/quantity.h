// reports/quantity.h -- a number with the unit that a result names it in, for people.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace reports {

/// "12.3 ms" for 0.0123 and "s"; without a unit four digits. `unit`: s B B/s FLOP/s W, or empty.
std::string human(double si, std::string_view unit);
std::string seconds(double);
std::string bytes(std::int64_t);
std::string money(double dollars);
/// "7.2 %", or a dash.
std::string percent(const std::optional<double>& share);

/// "exposed_tp" as "exposed tp"
std::string spaced(std::string name);

}  // namespace reports
