// SPDX-License-Identifier: Apache-2.0
#include "reports/row_names.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "core/base/text.h"
#include "reports/quantity.h"
#include "reports/shortfall.h"

namespace reports {

using result::ComparisonRow;
using result::Prediction;

namespace {

std::string last_key(const std::string& path) { return path.substr(path.rfind('.') + 1); }

}  // namespace

std::string short_name(const std::string& path, const ComparisonRow& row) {
  const auto alike = std::count_if(row.varied.begin(), row.varied.end(),
                                   [&](const auto& other) { return last_key(other.first) == last_key(path); });
  return alike > 1 ? path : last_key(path);
}

std::string stem(const std::string& path) { return std::filesystem::path(path).stem().string(); }

std::string what_differs(const ComparisonRow& row, bool several_jobs) {
  std::string out;
  for (const auto& [path, value] : row.varied) {
    out += fmt::format("{}{} {}", out.empty() ? "" : ", ", short_name(path, row), value);
  }
  if (!several_jobs && !out.empty()) return out;
  const std::string job = row.job.empty() ? "job" : row.job;
  return out.empty() ? job : job + ": " + out;
}

std::string why_it_does_not_fit(const Prediction& p) {
  const auto [needed, there] = shortfall_of(p);
  std::string out = fmt::format("needs {} of {}", bytes(needed), bytes(there));
  if (p.attack == "host_memory") return out + " in the host";
  if (p.attack == "nvme") return out + " on drives";
  const auto fullest = std::max_element(p.stages.begin(), p.stages.end(),
                                        [](const auto& a, const auto& b) { return a.peak_bytes < b.peak_bytes; });
  if (fullest == p.stages.end()) return out;
  if (p.stages.size() > 1) out += fmt::format(" on stage {}", fullest->stage);
  for (const auto& [category, size] : fullest->categories) {
    if (category == p.attack) out += fmt::format(", {} of it {}", bytes(size), category);
  }
  return out;
}

}  // namespace reports
