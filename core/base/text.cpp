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
#include <set>
#include <span>

namespace base {
namespace {

struct Unit {
  std::string_view name;
  double factor;
};

constexpr std::array kTime{Unit{"s", 1},    Unit{"ms", 1e-3}, Unit{"us", 1e-6}, Unit{"ns", 1e-9},
                           Unit{"min", 60}, Unit{"h", 3600},  Unit{"d", 86400}, Unit{"y", 365 * 86400.0}};
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

std::string quoted(std::string_view text) { return "'" + std::string(text) + "'"; }

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
    const std::string number(text);
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

namespace {

std::string in_small_letters(std::string_view name) {
  std::string out(name);
  for (char& c : out) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

/// Words of several letters, a digit among them: {"gb200", "nvl72"} of "gb200-nvl72".
std::set<std::string> numbered_words(std::string_view name) {
  std::set<std::string> out;
  std::string word;
  bool digit = false;
  for (const char c : std::string(name) + '-') {
    const auto letter = static_cast<unsigned char>(c);
    if (std::isalnum(letter) != 0) {
      word += c;
      digit |= std::isdigit(letter) != 0;
      continue;
    }
    if (digit && word.size() > 1) out.insert(word);
    word.clear();
    digit = false;
  }
  return out;
}

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t above = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, diagonal + (a[i - 1] == b[j - 1] ? 0 : 1)});
      diagonal = above;
    }
  }
  return row.back();
}

}  // namespace

std::optional<std::string> nearest(std::string_view name, const std::vector<std::string>& known) {
  std::optional<std::string> best;
  for (const std::string& candidate : known) {  // h100 is the beginning of h100-sxm before it is a misspelt h800
    const bool begins = !name.empty() && candidate.starts_with(name) && candidate.substr(name.size()).starts_with('-');
    if (begins && (!best || candidate.size() < best->size())) best = candidate;
  }
  if (best) return best;
  std::size_t best_distance = std::max<std::size_t>(2, name.size() / 3) + 1;
  for (const std::string& candidate : known) {
    const std::size_t distance = edit_distance(name, candidate);
    // Of two equally near ones the one that begins alike is meant: tpp is tp, not pp.
    const bool begins_alike = best && distance == best_distance && !name.empty() && candidate.front() == name.front() &&
                              best->front() != name.front();
    if ((distance < best_distance || begins_alike) && distance < candidate.size()) {
      best_distance = distance;
      best = candidate;
    }
  }
  return best;
}

std::string did_you_mean(std::string_view name, const std::vector<std::string>& known) {
  const std::string wished = in_small_letters(name);
  const std::set<std::string> wanted = numbered_words(wished);
  std::vector<std::string> meant;
  std::size_t most = 1;
  for (const std::string& candidate : known) {
    std::size_t shared = 0;
    for (const std::string& word : numbered_words(in_small_letters(candidate)))
      shared += wanted.contains(word) ? word.size() : 0;
    if (shared > most) meant.clear();
    if (shared > 0 && shared >= most) meant.push_back(candidate);
    most = std::max(most, shared);
  }
  if (meant.empty()) {
    const auto near = nearest(name, known);
    return near ? "did you mean " + *near + "?" : "";
  }
  constexpr std::size_t kMost = 4;
  const auto distance = [&](const std::string& candidate) { return edit_distance(wished, candidate); };
  std::ranges::stable_sort(meant, {}, distance);
  const std::size_t far = 2 * std::max<std::size_t>(1, distance(meant.front()));
  while (meant.size() > kMost || (meant.size() > 1 && distance(meant.back()) >= far)) meant.pop_back();
  const std::string last = std::move(meant.back());
  meant.pop_back();
  return "did you mean " + (meant.empty() ? last : joined(meant) + " or " + last) + "?";
}

}  // namespace base
