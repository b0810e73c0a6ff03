// SPDX-License-Identifier: Apache-2.0
#include "sim/search/findings.h"

#include <bit>
#include <sstream>

namespace sim {
namespace {

void write(std::ostream& out, const Standing& one) {
  out << std::bit_cast<std::uint64_t>(one.time) << ' ' << one.bytes;
  for (const spec::SearchValue value : one.point.values) out << ' ' << value;
  out << '\n';
}

void write(std::ostream& out, const std::vector<Standing>& all) {
  out << all.size() << '\n';
  for (const Standing& one : all) write(out, one);
}

Standing read_standing(std::istream& in) {
  std::uint64_t time = 0;
  Standing out;
  in >> time >> out.bytes;
  out.time = std::bit_cast<double>(time);
  for (spec::SearchValue& value : out.point.values) in >> value;
  return out;
}

std::vector<Standing> read_standings(std::istream& in) {
  std::size_t size = 0;
  in >> size;
  std::vector<Standing> out;
  for (std::size_t i = 0; i < size; ++i) out.push_back(read_standing(in));
  return out;
}

}  // namespace

void add_counts(ValueCounts& to, const ValueCounts& more) {
  for (std::size_t key = 0; key < to.size(); ++key) {
    for (const auto& [value, count] : more[key]) to[key][value] += count;
  }
}

std::string encoded(const Findings& found) {
  std::ostringstream out;
  out << found.strategies << ' ' << found.fits << ' ' << found.priced << ' ' << found.bounded << ' ' << found.unwanted
      << ' ' << found.operator_level << ' ' << found.complete << '\n';
  for (const auto& counts : found.values) {
    out << counts.size();
    for (const auto& [value, count] : counts) out << ' ' << value << ' ' << count;
    out << '\n';
  }
  write(out, found.standings);
  write(out, found.nearest);
  return out.str();
}

Findings decoded(const std::string& text) {
  std::istringstream in(text);
  Findings out;
  in >> out.strategies >> out.fits >> out.priced >> out.bounded >> out.unwanted >> out.operator_level >> out.complete;
  for (auto& counts : out.values) {
    std::size_t size = 0;
    in >> size;
    for (std::size_t i = 0; i < size; ++i) {
      spec::SearchValue value = 0;
      in >> value;
      in >> counts[value];
    }
  }
  out.standings = read_standings(in);
  out.nearest = read_standings(in);
  return out;
}

}  // namespace sim
