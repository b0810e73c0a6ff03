// SPDX-License-Identifier: Apache-2.0
#include "sim/validation/interval_fit.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <set>

#include "sim/analysis/interval.h"
#include "sim/validation/accuracy.h"

namespace sim {
namespace {

using result::FittedSpread;
using result::ValidationCase;
using result::ValidationFile;

constexpr double kFewestRows = 5;  // of a source that counts as one
constexpr double kOutside = 0.1;   // of the rows, on either side

using Sample = std::vector<const MeasuredStep*>;

std::map<int, std::vector<double>> errors_by_source(const Sample& rows) {
  std::map<int, std::vector<double>> out;
  for (const MeasuredStep* row : rows) out[row->source].push_back(row->error);
  return out;
}

/// The least spread that leaves a tenth of the rows, each source weighing alike, farther than it explains on one side.
/// `distance`: of a row towards that side; `known`: variance explained without it.
double least(const Sample& rows, const std::function<double(const MeasuredStep&)>& distance,
             const std::function<double(const MeasuredStep&)>& known) {
  const auto sources = errors_by_source(rows);
  std::vector<std::pair<double, double>> needed;  // spread that would hold the row, weight
  double all = 0;
  for (const MeasuredStep* row : rows) {
    const double count = static_cast<double>(sources.at(row->source).size());
    const double weight = std::min(1.0, count / kFewestRows) / count;
    const double deviations = std::max(0.0, distance(*row) / kTenth);
    needed.emplace_back(std::sqrt(std::max(0.0, deviations * deviations - known(*row))), weight);
    all += weight;
  }
  std::sort(needed.rbegin(), needed.rend());
  double beyond = 0;
  for (const auto& [spread, weight] : needed) {
    if (beyond + weight > kOutside * all) return spread;
    beyond += weight;
  }
  return 0;
}

/// One side of the spreads. side: +1 measured slower, -1 faster.
void fit_side(const Sample& rows, double side, std::vector<FittedSpread>& out) {
  const auto variance = side > 0 ? &MeasuredStep::slower : &MeasuredStep::faster;
  const auto value = side > 0 ? &FittedSpread::slower : &FittedSpread::faster;
  Sample plain;
  for (const MeasuredStep* row : rows) {
    if (row->scarce.empty()) plain.push_back(row);
  }
  std::map<int, double> medians;
  for (auto& [source, errors] : errors_by_source(plain)) medians[source] = quantile(std::move(errors), 0.5);

  const auto error = [&](const MeasuredStep& row) { return side * row.error; };
  const double unmodelled = least(
      plain, [&](const MeasuredStep& row) { return side * (row.error - medians.at(row.source)); },
      [&](const MeasuredStep& row) { return row.*variance; });
  const double stack =
      least(plain, error, [&](const MeasuredStep& row) { return row.*variance + unmodelled * unmodelled; });
  const double common = unmodelled * unmodelled + stack * stack;
  for (FittedSpread& spread : out) {
    if (spread.cause == kStackCause) {
      spread.*value = stack;
    } else if (spread.cause == kUnmodelledCause) {
      spread.*value = unmodelled;
    } else {
      Sample having;
      for (const MeasuredStep* row : rows) {
        if (std::find(row->scarce.begin(), row->scarce.end(), spread.cause) != row->scarce.end()) having.push_back(row);
      }
      spread.*value = least(having, error, [&](const MeasuredStep& row) { return row.*variance + common; });
    }
  }
}

void count(const Sample& rows, const std::function<bool(const MeasuredStep&)>& belongs, FittedSpread& spread) {
  std::set<int> sources;
  for (const MeasuredStep* row : rows) {
    if (!belongs(*row)) continue;
    ++spread.rows;
    sources.insert(row->source);
  }
  spread.sources = static_cast<int>(sources.size());
}

std::vector<FittedSpread> fit(const Sample& rows) {
  const auto plain = [](const MeasuredStep& row) { return row.scarce.empty(); };
  std::vector<FittedSpread> out{{.cause = kStackCause}, {.cause = kUnmodelledCause}};
  for (FittedSpread& spread : out) count(rows, plain, spread);
  std::set<std::string> parts;
  for (const MeasuredStep* row : rows) parts.insert(row->scarce.begin(), row->scarce.end());
  for (const std::string& part : parts) {
    count(
        rows,
        [&](const MeasuredStep& row) {
          return std::find(row.scarce.begin(), row.scarce.end(), part) != row.scarce.end();
        },
        out.emplace_back(FittedSpread{.cause = part}));
  }
  fit_side(rows, 1, out);
  fit_side(rows, -1, out);
  return out;
}

bool inside(const MeasuredStep& row, const std::vector<FittedSpread>& spreads) {
  double variance = row.error > 0 ? row.slower : row.faster;
  for (const FittedSpread& spread : spreads) {
    const bool acts = spread.cause == kStackCause || spread.cause == kUnmodelledCause ||
                      std::find(row.scarce.begin(), row.scarce.end(), spread.cause) != row.scarce.end();
    const double sigma = row.error > 0 ? spread.slower : spread.faster;
    if (acts) variance += sigma * sigma;
  }
  return std::abs(row.error) <= kTenth * std::sqrt(variance);
}

double coverage(const Sample& rows, const std::vector<FittedSpread>& spreads) {
  double in = 0;
  for (const MeasuredStep* row : rows) in += inside(*row, spreads);
  return in / static_cast<double>(rows.size());
}

MeasuredStep row_of(const ValidationCase& measured, int source) {
  MeasuredStep row{.source = source, .error = std::log(*measured.measured_s / *measured.predicted_s)};
  for (const result::IntervalContribution& cause : measured.interval_contributions) {
    if (cause.cause == kStackCause || cause.cause == kUnmodelledCause) continue;
    if (is_scarce(cause.cause)) {
      row.scarce.push_back(cause.cause);
    } else {
      row.faster += cause.faster * cause.faster;
      row.slower += cause.slower * cause.slower;
    }
  }
  return row;
}

}  // namespace

std::vector<FittedSpread> fit_spreads(const std::vector<MeasuredStep>& rows) {
  Sample all;
  for (const MeasuredStep& row : rows) all.push_back(&row);
  return fit(all);
}

result::IntervalFit fit_interval(const std::vector<ValidationFile>& files) {
  std::vector<MeasuredStep> rows;
  for (std::size_t f = 0; f < files.size(); ++f) {
    for (const ValidationCase& measured : files[f].cases) {
      if (measured.error) rows.push_back(row_of(measured, static_cast<int>(f)));
    }
  }
  result::IntervalFit out;
  out.spreads = fit_spreads(rows);
  int counted = 0;
  double with = 0, without = 0;
  for (std::size_t f = 0; f < files.size(); ++f) {
    Sample own, others;
    for (const MeasuredStep& row : rows) (row.source == static_cast<int>(f) ? own : others).push_back(&row);
    if (own.empty()) continue;
    const result::FittedFile& told = out.files.emplace_back(
        result::FittedFile{std::filesystem::path(files[f].file).stem(), static_cast<int>(own.size()),
                           coverage(own, out.spreads), coverage(own, fit(others))});
    if (told.rows < kFewestRows) continue;
    ++counted;
    with += told.with;
    without += told.without;
  }
  if (counted > 0) {
    out.with = with / counted;
    out.without = without / counted;
  }
  return out;
}

}  // namespace sim
