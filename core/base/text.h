// core/base/text.h -- numbers and units to and from text.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/units.h"

namespace base {

/// What a text with a unit turned out to be. `problem` is empty when it could be read.
template <class Q>
struct Parsed {
  std::optional<Q> value;
  std::string problem;  // "'900' has no unit"
  std::string mend;     // "write 900GB/s (bytes) or 900Gb/s (bits)"
};

/// "1.5us" "3.697s" "2ms" "10ns"
Parsed<Seconds> parse_seconds(std::string_view);
/// "80GB" (1e9) "80GiB" (2^30) "512" is a fault, "80Gb" (bits) is one too
Parsed<Bytes> parse_bytes(std::string_view);
/// "450GB/s" "400Gb/s" (bits) "3.35TB/s"
Parsed<ByteRate> parse_byte_rate(std::string_view);
/// "989TFLOP/s" "1.979PFLOP/s"
Parsed<FlopRate> parse_flop_rate(std::string_view);
/// "700W" "10.2kW"
Parsed<Watts> parse_watts(std::string_view);
/// "1.98GHz" "1410MHz"
Parsed<Hertz> parse_hertz(std::string_view);

/// For people: "12.3 ms", "71.4 GB", "450 GB/s", "989 TFLOP/s".
std::string human(Seconds);
std::string human(Bytes);
std::string human(ByteRate);
std::string human(FlopRate);
std::string human(Watts);
std::string human(Hertz);
/// 'text', as faults name what was written; what a terminal would obey or swallow as \x1b.
std::string quoted(std::string_view text);
/// "tp, pp, dp"
std::string joined(const std::vector<std::string>& words, std::string_view between = ", ");
/// 70553706496 as "70,553,706,496".
std::string with_commas(long long);

}  // namespace base
