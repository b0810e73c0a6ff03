// core/base/units.h -- physical quantities. The unit is in the type, so never in the name.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>

namespace base {

/// A number with the dimension second^T byte^B FLOP^F joule^J. Stored in SI; counts stay exact up to 2^53.
template <int T, int B, int F, int J>
class Quantity {
 public:
  constexpr Quantity() = default;
  constexpr explicit Quantity(double si) : si_(si) {}
  constexpr double si() const { return si_; }
  constexpr auto operator<=>(const Quantity&) const = default;
  constexpr Quantity operator+(Quantity o) const { return Quantity(si_ + o.si_); }
  constexpr Quantity operator-(Quantity o) const { return Quantity(si_ - o.si_); }
  constexpr Quantity operator*(double k) const { return Quantity(si_ * k); }
  constexpr Quantity& operator+=(Quantity o) { return *this = *this + o; }
  constexpr Quantity& operator-=(Quantity o) { return *this = *this - o; }

 private:
  double si_ = 0;
};

using Seconds = Quantity<1, 0, 0, 0>;
using Hertz = Quantity<-1, 0, 0, 0>;
using Bytes = Quantity<0, 1, 0, 0>;
using Flops = Quantity<0, 0, 1, 0>;
using ByteRate = Quantity<-1, 1, 0, 0>;
using FlopRate = Quantity<-1, 0, 1, 0>;
using Watts = Quantity<-1, 0, 0, 1>;

template <int T, int B, int F, int J>
constexpr Quantity<T, B, F, J> operator*(double k, Quantity<T, B, F, J> q) {
  return q * k;
}

/// Bytes / ByteRate is Seconds; Seconds / Seconds is a plain double.
template <int T, int B, int F, int J, int U, int C, int G, int K>
constexpr auto operator/(Quantity<T, B, F, J> a, Quantity<U, C, G, K> b) {
  if constexpr (T == U && B == C && F == G && J == K) {
    return a.si() / b.si();
  } else {
    return Quantity<T - U, B - C, F - G, J - K>(a.si() / b.si());
  }
}
template <int T, int B, int F, int J>
constexpr Quantity<T, B, F, J> operator/(Quantity<T, B, F, J> a, double k) {
  return Quantity<T, B, F, J>(a.si() / k);
}
template <int T, int B, int F, int J, int U, int C, int G, int K>
constexpr auto operator*(Quantity<T, B, F, J> a, Quantity<U, C, G, K> b) {
  return Quantity<T + U, B + C, F + G, J + K>(a.si() * b.si());
}

constexpr Seconds s(double v) { return Seconds(v); }
constexpr Seconds ms(double v) { return Seconds(v / 1e3); }
constexpr Seconds us(double v) { return Seconds(v / 1e6); }
constexpr Bytes GiB(double v) { return Bytes(v * (1 << 30)); }
constexpr Bytes MiB(double v) { return Bytes(v * (1 << 20)); }
constexpr Bytes GB(double v) { return Bytes(v * 1e9); }
constexpr ByteRate GBps(double v) { return ByteRate(v * 1e9); }
constexpr FlopRate TFLOPps(double v) { return FlopRate(v * 1e12); }

}  // namespace base
