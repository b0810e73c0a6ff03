// SPDX-License-Identifier: Apache-2.0
#include "sim/validation/accuracy.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>

#include "core/base/number.h"

namespace sim {
namespace {

using result::ValidationCase;
using result::ValidationFile;
using result::ValidationSummary;

constexpr int kFewestRowsOfRanking = 4;  // behind a rank correlation
constexpr std::array kKeys{"source",    "gpu",         "tp",       "pp",        "dp",     "cp",
                           "ep",        "zero",        "nodes",    "recompute", "kernel", "framework",
                           "precision", "micro_batch", "sequence", "model"};

std::optional<double> mean(const std::vector<double>& sample) {
  if (sample.empty()) return {};
  double sum = 0;
  for (const double value : sample) sum += value;
  return sum / static_cast<double>(sample.size());
}

std::vector<double> magnitudes(std::vector<double> sample) {
  for (double& value : sample) value = std::abs(value);
  return sample;
}

void add_times(const Rows& rows, ValidationSummary& out) {
  std::vector<double> errors, inside;
  for (const ValidationCase* row : rows) {
    if (row->error) errors.push_back(*row->error);
    if (row->inside) inside.push_back(*row->inside ? 1 : 0);
  }
  out.rows = static_cast<int>(errors.size());
  if (errors.empty()) return;
  const std::vector<double> sizes = magnitudes(errors);
  out.mape = mean(sizes);
  out.median_abs_error = quantile(sizes, 0.5);
  out.mean_signed_error = mean(errors);
  out.p90_abs_error = quantile(sizes, 0.9);
  out.coverage_80 = mean(inside);
}

void add_memory(const Rows& rows, ValidationSummary& out) {
  std::vector<double> errors;
  for (const ValidationCase* row : rows) {
    if (row->memory_error) errors.push_back(*row->memory_error);
    const std::optional<bool> truth = row->did_fit();
    if (!truth || !row->fits) continue;
    ++out.fits_rows;
    out.missed_misfits += !*truth && *row->fits;
    out.false_misfits += *truth && !*row->fits;
  }
  out.memory_rows = static_cast<int>(errors.size());
  out.memory_mape = mean(magnitudes(errors));
  if (out.fits_rows > 0)
    out.fits_right = 1 - static_cast<double>(out.missed_misfits + out.false_misfits) / out.fits_rows;
}

void add_rankings(const Rows& rows, ValidationSummary& out) {
  std::vector<double> taus;
  for (const result::Ranking& ranking : rankings_of(rows)) taus.push_back(ranking.kendall_tau);
  out.rankings = static_cast<int>(taus.size());
  out.kendall_tau = mean(taus);
}

std::string label_of(const ValidationCase& row, std::string_view key) {
  for (const auto& [name, label] : row.labels) {
    if (name == key) return label;
  }
  return "?";
}

/// Orders 2 before 10, numbers before words.
bool before(const std::string& a, const std::string& b) {
  const auto x = base::number_in<long long>(a), y = base::number_in<long long>(b);
  if (x && y) return *x < *y;
  return x.has_value() != y.has_value() ? x.has_value() : a < b;
}

std::vector<std::string> split(const std::string& text, char at) {
  std::vector<std::string> parts{""};
  for (const char c : text) c == at ? void(parts.emplace_back()) : void(parts.back() += c);
  return parts;
}

}  // namespace

Rows rows_of(const std::vector<ValidationFile>& files) {
  Rows rows;
  for (const ValidationFile& file : files) {
    for (const ValidationCase& row : file.cases) rows.push_back(&row);
  }
  return rows;
}

ValidationSummary summary_of(const Rows& rows) {
  ValidationSummary out;
  for (const ValidationCase* row : rows) out.refused += row->refused();
  add_times(rows, out);
  add_memory(rows, out);
  add_rankings(rows, out);
  return out;
}

result::ValidationMacro macro_of(const std::vector<ValidationFile>& files) {
  using Figure = std::optional<double> result::ValidationFigures::*;
  using F = result::ValidationFigures;
  result::ValidationMacro out;
  const auto average = [&](Figure figure, int ValidationSummary::*behind, int fewest) {
    std::vector<double> sample;
    for (const ValidationFile& file : files) {
      if (file.summary.*behind >= fewest && file.summary.*figure) sample.push_back(*(file.summary.*figure));
    }
    out.*figure = mean(sample);
  };
  for (const Figure figure :
       {&F::mape, &F::median_abs_error, &F::mean_signed_error, &F::p90_abs_error, &F::coverage_80}) {
    average(figure, &ValidationSummary::rows, kFewestRowsOfGroup);
  }
  average(&F::memory_mape, &ValidationSummary::memory_rows, kFewestRowsOfGroup);
  average(&F::fits_right, &ValidationSummary::fits_rows, kFewestRowsOfGroup);
  average(&F::kendall_tau, &ValidationSummary::rankings, 1);
  for (const ValidationFile& file : files) out.files += file.summary.rows >= kFewestRowsOfGroup;
  return out;
}

std::vector<result::Ranking> rankings_of(const Rows& rows) {
  std::vector<std::pair<std::string, std::vector<std::pair<double, double>>>> groups;
  std::map<std::string, std::size_t> known;
  for (const ValidationCase* row : rows) {
    if (!row->measured_s || !row->predicted_s || !(row->tokens > 0)) continue;
    const auto [at, is_new] = known.emplace(row->ranked_with, groups.size());
    if (is_new) groups.emplace_back(row->ranked_with, std::vector<std::pair<double, double>>());
    groups[at->second].second.emplace_back(*row->predicted_s / row->tokens, *row->measured_s / row->tokens);
  }
  std::vector<result::Ranking> out;
  for (const auto& [name, pairs] : groups) {
    if (pairs.size() < kFewestRowsOfRanking) continue;
    const auto chosen = std::min_element(pairs.begin(), pairs.end());
    const auto best =
        std::min_element(pairs.begin(), pairs.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
    out.push_back({name, static_cast<int>(pairs.size()), kendall_tau(pairs), chosen->second / best->second - 1});
  }
  return out;
}

std::vector<std::string> grouping_keys() { return {kKeys.begin(), kKeys.end()}; }

std::vector<std::pair<std::string, Rows>> rows_by(const std::vector<ValidationFile>& files, const std::string& key) {
  const std::vector<std::string> parts = split(key, '+');
  std::vector<std::pair<std::vector<std::string>, Rows>> groups;
  for (const ValidationCase* row : rows_of(files)) {
    std::vector<std::string> labels;
    for (const std::string& part : parts) labels.push_back(label_of(*row, part));
    auto at = std::find_if(groups.begin(), groups.end(), [&](const auto& group) { return group.first == labels; });
    if (at == groups.end()) at = groups.insert(at, {labels, {}});
    at->second.push_back(row);
  }
  std::sort(groups.begin(), groups.end(), [](const auto& a, const auto& b) {
    return std::lexicographical_compare(a.first.begin(), a.first.end(), b.first.begin(), b.first.end(), before);
  });
  std::vector<std::pair<std::string, Rows>> out;
  for (auto& [labels, rows] : groups) {
    std::string name;
    for (const std::string& label : labels) name += (name.empty() ? "" : " + ") + label;
    out.emplace_back(std::move(name), std::move(rows));
  }
  return out;
}

result::ValidationGrouping grouped(const std::vector<ValidationFile>& files, const std::string& key) {
  result::ValidationGrouping out{key, {}};
  for (const auto& [name, rows] : rows_by(files, key)) out.groups.push_back({name, summary_of(rows)});
  std::stable_sort(out.groups.begin(), out.groups.end(), [](const auto& a, const auto& b) {
    return std::abs(a.summary.mean_signed_error.value_or(0)) > std::abs(b.summary.mean_signed_error.value_or(0));
  });
  return out;
}

double quantile(std::vector<double> sample, double q) {
  std::sort(sample.begin(), sample.end());
  const double at = q * static_cast<double>(sample.size() - 1);
  const auto below = static_cast<std::size_t>(at);
  if (below + 1 >= sample.size()) return sample.back();
  return sample[below] + (at - static_cast<double>(below)) * (sample[below + 1] - sample[below]);
}

double kendall_tau(const std::vector<std::pair<double, double>>& pairs) {
  double agreement = 0, untied_x = 0, untied_y = 0;
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      const auto sign = [](double d) { return (d > 0) - (d < 0); };
      const int x = sign(pairs[i].first - pairs[j].first), y = sign(pairs[i].second - pairs[j].second);
      agreement += x * y;
      untied_x += x != 0;
      untied_y += y != 0;
    }
  }
  return untied_x > 0 && untied_y > 0 ? agreement / std::sqrt(untied_x * untied_y) : 0;
}

}  // namespace sim
