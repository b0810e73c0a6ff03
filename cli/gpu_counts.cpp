// SPDX-License-Identifier: Apache-2.0
#include "cli/gpu_counts.h"
#include "cli/number.h"

#include <algorithm>
#include <string_view>

#include "core/base/fault.h"

namespace cli {
namespace {

constexpr int kMostGpus = 1 << 20;
const char kMend[] = "write 8..16384 to double from 8, or 8,16,24";

int count_of(std::string_view word, const std::string& option) {
  if (const auto count = number_in(word, 1, kMostGpus)) return *count;
  throw base::InputError({{option, "'" + std::string(word) + "' is no number of GPUs from 1 to 1048576", kMend, {}}});
}

std::vector<int> doubled(int first, int last) {
  std::vector<int> out;
  for (int count = first; count < last; count *= 2) out.push_back(count);
  out.push_back(last);
  return out;
}

}  // namespace

std::vector<int> gpu_counts(const std::string& text, const std::string& option) {
  if (const std::size_t dots = text.find(".."); dots != std::string::npos) {
    const int first = count_of(std::string_view(text).substr(0, dots), option);
    const int last = count_of(std::string_view(text).substr(dots + 2), option);
    if (first > last) throw base::InputError({{option, "'" + text + "' ends before it begins", kMend, {}}});
    return doubled(first, last);
  }
  std::vector<int> out;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t comma = std::min(text.find(',', begin), text.size());
    out.push_back(count_of(std::string_view(text).substr(begin, comma - begin), option));
    begin = comma + 1;
  }
  std::ranges::sort(out);
  out.erase(std::ranges::unique(out).begin(), out.end());
  return out;
}

}  // namespace cli
