// SPDX-License-Identifier: Apache-2.0
#include "core/base/text.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <span>

namespace base {
namespace {

struct Unit {
  std::string_view name;
  double factor;
};

constexpr std::array kTime{Unit{"s", 1},     Unit{"ms", 1e-3},       Unit{"us", 1e-6},
                           Unit{"ns", 1e-9}, Unit{"min", 60},        Unit{"h", 3600},
                           Unit{"d", 86400}, Unit{"w", 7 * 86400.0}, Unit{"y", 365 * 86400.0}};
constexpr std::array kBytes{Unit{"B", 1},
                            Unit{"kB", 1e3},
                            Unit{"KB", 1e3},
                            Unit{"MB", 1e6},
                            Unit{"GB", 1e9},
                            Unit{"TB", 1e12},
                            Unit{"PB", 1e15},
                            Unit{"KiB", 1024.0},
                            Unit{"MiB", 1048576.0},
                            Unit{"GiB", 1073741824.0},
                            Unit{"TiB", 1099511627776.0}};
constexpr std::array kBits{Unit{"b", 1}, Unit{"kb", 1e3}, Unit{"Mb", 1e6}, Unit{"Gb", 1e9}, Unit{"Tb", 1e12}};
constexpr std::array kFlopRate{Unit{"FLOP/s", 1}, Unit{"GFLOP/s", 1e9}, Unit{"TFLOP/s", 1e12}, Unit{"PFLOP/s", 1e15}};
constexpr std::array kWatts{Unit{"W", 1}, Unit{"kW", 1e3}, Unit{"MW", 1e6}};
constexpr std::array kHertz{Unit{"Hz", 1}, Unit{"MHz", 1e6}, Unit{"GHz", 1e9}};

struct NumberAndUnit {
  double number = 0;
  std::string_view unit;
  bool ok = false;
};

NumberAndUnit split(std::string_view text) {
  NumberAndUnit out;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out.number);
  if (error != std::errc() || !std::isfinite(out.number)) return out;
  out.unit = std::string_view(end, text.data() + text.size() - end);
  while (!out.unit.empty() && out.unit.front() == ' ') out.unit.remove_prefix(1);
  out.ok = true;
  return out;
}

const Unit* find(std::span<const Unit> units, std::string_view name) {
  const auto it = std::find_if(units.begin(), units.end(), [&](const Unit& u) { return u.name == name; });
  return it == units.end() ? nullptr : &*it;
}

/// `example` and `kind` word the mend: "write a time with its unit, such as 1.5us".
template <class Q>
Parsed<Q> parse(std::string_view text, std::span<const Unit> units, const char* kind, const char* example) {
  Parsed<Q> out;
  const NumberAndUnit parts = split(text);
  if (!parts.ok) {
    out.problem = quoted(text) + " is not a number with a unit";
    out.mend = std::string("write ") + kind + " with its unit, such as " + example;
  } else if (parts.number < 0) {
    out.problem = quoted(text) + " is negative";
    out.mend = std::string("write ") + kind + " of zero or more, such as " + example;
  } else if (parts.unit.empty()) {
    out.problem = quoted(text) + " has no unit";
    out.mend = std::string("write ") + kind + " with its unit, such as " + example;
  } else if (const Unit* unit = find(units, parts.unit)) {
    out.value = Q(parts.number * unit->factor);
  } else {
    out.problem = quoted(parts.unit) + " in " + quoted(text) + " is not a unit of " + (kind + 2);
    out.mend = std::string("write ") + kind + " with its unit, such as " + example;
  }
  return out;
}

std::string scaled(double value, std::span<const Unit> units) {
  const Unit* best = &units.front();
  for (const Unit& unit : units) {
    if (std::abs(value) >= unit.factor) best = &unit;
  }
  const double shown = value / best->factor;
  char text[48];
  const double size = std::abs(shown);
  std::snprintf(text, sizeof text,
                size >= 99.95   ? "%.0f %s"
                : size >= 9.995 ? "%.1f %s"
                                : "%.2f %s",
                shown, std::string(best->name).c_str());
  return text;
}

}  // namespace

std::string joined(const std::vector<std::string>& words, std::string_view between) {
  return fmt::format("{}", fmt::join(words, between));
}

std::string quoted(std::string_view text) {
  std::string out = "'";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte == 0x7f) {
      out += fmt::format("\\x{:02x}", byte);
    } else {
      out += c;
    }
  }
  return out + '\'';
}

Parsed<Seconds> parse_seconds(std::string_view text) { return parse<Seconds>(text, kTime, "a time", "1.5us or 60d"); }

Parsed<Bytes> parse_bytes(std::string_view text) {
  const NumberAndUnit parts = split(text);
  if (parts.ok && find(kBits, parts.unit)) {
    const std::string number(text.substr(0, text.size() - parts.unit.size()));
    std::string bytes(parts.unit);
    bytes.back() = 'B';
    return {{}, quoted(text) + " is in bits", "memory is counted in bytes: write " + number + bytes};
  }
  return parse<Bytes>(text, kBytes, "a size", "80GB");
}

Parsed<ByteRate> parse_byte_rate(std::string_view text) {
  Parsed<ByteRate> out;
  NumberAndUnit parts = split(text);
  if (parts.ok && parts.unit.empty() && parts.number >= 0) {
    const std::string number(parts.number > 0 ? text : "50");
    out.problem = quoted(text) + " has no unit";
    out.mend = "write " + number + "GB/s (bytes) or " + number + "Gb/s (bits)";
    return out;
  }
  if (parts.ok && parts.number >= 0 && parts.unit.ends_with("/s")) {
    const std::string_view amount = parts.unit.substr(0, parts.unit.size() - 2);
    if (const Unit* bytes = find(kBytes, amount)) {
      out.value = ByteRate(parts.number * bytes->factor);
      return out;
    }
    if (const Unit* bits = find(kBits, amount)) {
      out.value = ByteRate(parts.number * bits->factor / 8);
      return out;
    }
  }
  if (parts.ok && (find(kBytes, parts.unit) || find(kBits, parts.unit))) {
    out.problem = quoted(text) + " is an amount, not a rate";
    out.mend = "write " + std::string(text) + "/s";
    return out;
  }
  constexpr std::array<Unit, 0> none{};
  return parse<ByteRate>(text, none, "a bandwidth", "450GB/s (bytes) or 400Gb/s (bits)");
}

Parsed<FlopRate> parse_flop_rate(std::string_view text) {
  return parse<FlopRate>(text, kFlopRate, "a speed", "989TFLOP/s");
}
Parsed<Watts> parse_watts(std::string_view text) { return parse<Watts>(text, kWatts, "a power", "700W"); }
Parsed<Hertz> parse_hertz(std::string_view text) { return parse<Hertz>(text, kHertz, "a frequency", "1.98GHz"); }

std::string human(Seconds v) {
  constexpr std::array units{Unit{"ns", 1e-9}, Unit{"us", 1e-6}, Unit{"ms", 1e-3}, Unit{"s", 1}};
  return v.si() == 0 ? "0 s" : scaled(v.si(), units);
}
std::string human(Bytes v) {
  constexpr std::array units{Unit{"B", 1}, Unit{"kB", 1e3}, Unit{"MB", 1e6}, Unit{"GB", 1e9}, Unit{"TB", 1e12}};
  return v.si() == 0 ? "0 B" : scaled(v.si(), units);
}
std::string human(ByteRate v) {
  constexpr std::array units{Unit{"B/s", 1}, Unit{"kB/s", 1e3}, Unit{"MB/s", 1e6}, Unit{"GB/s", 1e9},
                             Unit{"TB/s", 1e12}};
  return scaled(v.si(), units);
}
std::string human(FlopRate v) { return scaled(v.si(), std::span(kFlopRate).first(3)); }
std::string human(Watts v) { return scaled(v.si(), kWatts); }
std::string human(Hertz v) { return scaled(v.si(), kHertz); }

std::string with_commas(long long value) {
  std::string digits = std::to_string(value);
  const std::size_t first = digits.front() == '-' ? 1 : 0;
  for (std::size_t at = digits.size(); at > first + 3; at -= 3) digits.insert(at - 3, ",");
  return digits;
}

}  // namespace base
