// SPDX-License-Identifier: Apache-2.0
#include "core/base/money.h"

#include <fmt/format.h>

#include <cmath>

#include "core/base/number.h"

namespace base {
namespace {

constexpr const char* kShell = " (in single quotes on a command line)";

/// Takes the ending away when it is there.
bool drop_ending(std::string_view& text, std::string_view ending) {
  if (!text.ends_with(ending)) return false;
  text.remove_suffix(ending.size());
  return true;
}

double scale_of(std::string_view& number) {
  if (drop_ending(number, "k")) return 1e3;
  if (drop_ending(number, "M")) return 1e6;
  if (drop_ending(number, "B")) return 1e9;
  return 1;
}

/// Dollars of "$5M" or "5MUSD". `example` words the mend.
Parsed<Money> dollars(std::string_view whole, std::string_view text, const std::string& example) {
  const std::string mend = "write US dollars, such as " + example;
  const bool sign = text.starts_with('$');
  if (sign) text.remove_prefix(1);
  const bool named = drop_ending(text, "USD");
  while (drop_ending(text, " ")) {
  }
  const double scale = scale_of(text);
  const auto found = number_in<double>(text);
  if (!found || !std::isfinite(*found)) return {{}, quoted(whole) + " is not a sum of money", mend};
  const double number = *found;
  if (!sign && !named) return {{}, quoted(whole) + " has no currency", mend};
  if (number < 0) return {{}, quoted(whole) + " is negative", mend};
  if (!(number * scale < 1e15)) return {{}, quoted(whole) + " is out of range", mend};
  return {Money(number * scale), {}, {}};
}

template <class Q>
Parsed<Price<Q>> price(std::string_view text, std::string_view unit, double si, const std::string& example) {
  std::string_view sum = text;
  if (!drop_ending(sum, unit)) {
    return {{}, quoted(text) + " does not end in " + std::string(unit), "write US dollars, such as " + example};
  }
  Parsed<Money> read = dollars(text, sum, example);
  if (!read.value) return {{}, std::move(read.problem), std::move(read.mend)};
  return {Price<Q>(read.value->dollars() / si), {}, {}};
}

}  // namespace

Parsed<Money> parse_money(std::string_view text) {
  return dollars(text, text, std::string("$5M") + kShell + " or 5MUSD");
}
Parsed<TimePrice> parse_time_price(std::string_view text) {
  return price<Seconds>(text, "/h", kHour, std::string("$2.50/h") + kShell + " or 2.50USD/h");
}
Parsed<EnergyPrice> parse_energy_price(std::string_view text) {
  return price<Joules>(text, "/kWh", kKilowattHour, std::string("$0.09/kWh") + kShell + " or 0.09USD/kWh");
}

std::string human(Money sum) {
  const double v = sum.dollars(), size = std::abs(v);
  const char* minus = v < 0 ? "-" : "";
  if (size >= 999.5e6) return fmt::format("{}${:.2f}B", minus, size / 1e9);
  if (size >= 999.5e3) return fmt::format("{}${:.2f}M", minus, size / 1e6);
  if (size >= 99.95e3) return fmt::format("{}${:.0f}k", minus, size / 1e3);
  if (size >= 9999.5) return fmt::format("{}${:.1f}k", minus, size / 1e3);
  if (size >= 99.5) return fmt::format("{}${:.0f}", minus, size);
  return fmt::format("{}${:.2f}", minus, size);
}
std::string human(TimePrice price) { return fmt::format("${:.2f}/h", price.per_si() * kHour); }
std::string human(EnergyPrice price) { return fmt::format("${:.4g}/kWh", price.per_si() * kKilowattHour); }

}  // namespace base
