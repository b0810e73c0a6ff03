// core/base/money.h -- US dollars, and prices: dollars for each second or joule. To and from text.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <string>
#include <string_view>

#include "core/base/text.h"
#include "core/base/units.h"

namespace base {

using Joules = decltype(Watts() * Seconds());

class Money {
 public:
  constexpr Money() = default;
  constexpr explicit Money(double dollars) : dollars_(dollars) {}
  constexpr double dollars() const { return dollars_; }
  constexpr auto operator<=>(const Money&) const = default;
  constexpr Money operator+(Money o) const { return Money(dollars_ + o.dollars_); }
  constexpr Money operator-(Money o) const { return Money(dollars_ - o.dollars_); }
  constexpr Money operator*(double k) const { return Money(dollars_ * k); }
  constexpr double operator/(Money o) const { return dollars_ / o.dollars_; }

 private:
  double dollars_ = 0;
};

/// Money for each unit of a quantity: Price<Seconds> * Seconds is Money, Money / Price<Seconds> is Seconds.
template <class Q>
class Price {
 public:
  constexpr Price() = default;
  constexpr explicit Price(double dollars_per_si) : per_si_(dollars_per_si) {}
  constexpr double per_si() const { return per_si_; }
  constexpr auto operator<=>(const Price&) const = default;
  constexpr Price operator-(Price o) const { return Price(per_si_ - o.per_si_); }
  constexpr Price operator*(double k) const { return Price(per_si_ * k); }
  constexpr Money operator*(Q amount) const { return Money(per_si_ * amount.si()); }

 private:
  double per_si_ = 0;
};
template <class Q>
constexpr Q operator/(Money sum, Price<Q> price) {
  return Q(sum.dollars() / price.per_si());
}

using TimePrice = Price<Seconds>;
using EnergyPrice = Price<Joules>;

constexpr double kHour = 3600, kDay = 24 * kHour, kKilowattHour = 3.6e6;
constexpr Seconds hours(double v) { return Seconds(v * kHour); }
constexpr Seconds days(double v) { return Seconds(v * kDay); }
constexpr Money usd(double v) { return Money(v); }
constexpr TimePrice usd_per_hour(double v) { return TimePrice(v / kHour); }
constexpr EnergyPrice usd_per_kwh(double v) { return EnergyPrice(v / kKilowattHour); }

/// "$5M" "$370k" "$2.5B" "1200USD" "5MUSD"; a number without a currency is a fault.
Parsed<Money> parse_money(std::string_view);
/// "$2.49/h" "2.49USD/h"
Parsed<TimePrice> parse_time_price(std::string_view);
/// "$0.09/kWh" "0.09USD/kWh"
Parsed<EnergyPrice> parse_energy_price(std::string_view);

/// "$4.21M" "$370k" "$512" "$0.42"
std::string human(Money);
/// "$2.49/h"
std::string human(TimePrice);
/// "$0.0929/kWh"
std::string human(EnergyPrice);

}  // namespace base
