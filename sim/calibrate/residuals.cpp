// SPDX-License-Identifier: Apache-2.0
#include "sim/calibrate/residuals.h"

#include <fmt/format.h>

#include <cmath>

#include "sim/network/closed_form.h"
#include "sim/validation/accuracy.h"

namespace sim {
namespace {

constexpr std::size_t kMostPoints = 60;

std::vector<std::string> shape_words(const config::MatmulRow& r) {
  return {fmt::to_string(r.batch), fmt::to_string(r.m), fmt::to_string(r.n), fmt::to_string(r.k),
          r.accumulates ? "yes" : "no"};
}

std::vector<std::string> shape_words(const config::AttentionRow& r) {
  const char* passes[] = {"forward", "backward", "both"};
  return {passes[static_cast<int>(r.passes)],
          fmt::to_string(r.batch),
          fmt::to_string(r.q_len),
          fmt::to_string(r.heads),
          fmt::to_string(r.kv_heads),
          fmt::to_string(r.head_dim),
          fmt::to_string(r.value_head_dim),
          r.causal ? "yes" : "no"};
}

std::vector<std::string> shape_words(const config::MemoryRow& r) { return {fmt::to_string(r.bytes)}; }

}  // namespace

result::LogErrors figures(const std::vector<double>& errors) {
  if (errors.empty()) return {};
  std::vector<double> sizes;
  double squares = 0;
  for (const double e : errors) {
    sizes.push_back(std::abs(e));
    squares += e * e;
  }
  return {quantile(sizes, 0.5), quantile(errors, 0.5), quantile(sizes, 0.9),
          std::sqrt(squares / static_cast<double>(errors.size()))};
}

Residuals::Residuals() {
  const auto table = [this](const char* name, std::vector<std::string> shape) {
    shape.insert(shape.begin(), {"gpu", "kernel"});
    shape.insert(shape.end(), {"measured_us", "predicted_us", "log_error", "fitted", "source"});
    tables_.push_back({name, std::move(shape), {}});
  };
  table("matmul", {"batch", "m", "n", "k", "accumulates"});
  table("attention", {"pass", "batch", "tokens", "heads", "kv_heads", "head_dim", "value_head_dim", "causal"});
  table("memory", {"bytes"});
}

void Residuals::add(const result::CurveFit& fit, const MeasuredRows& rows, const config::KernelTables& tables,
                    const Device& device) {
  const Device cool = short_run(device);
  const std::size_t step = (rows.size() + kMostPoints - 1) / kMostPoints;
  for (std::size_t i = 0; i < rows.size(); i += step) {
    const config::MeasuredKernel& row = *rows[i];
    const base::Seconds predicted = time_of(row, cool, device);
    std::vector<std::string> point = std::visit([](const auto& shape) { return shape_words(shape); }, row.shape);
    point.insert(point.begin(), {fit.calibration, fit.family.substr(fit.family.find(' ') + 1)});
    const bool fitted = fit.verdict == result::CurveFit::Verdict::replaced;
    point.insert(point.end(), {fmt::format("{:.5g}", row.time.si() * 1e6), fmt::format("{:.5g}", predicted.si() * 1e6),
                               fmt::format("{:.4f}", std::log(predicted / row.time)), fitted ? "yes" : "no",
                               '"' + tables.sources[row.source] + '"'});
    tables_[row.shape.index()].rows.push_back(std::move(point));
  }
}

CollectiveResiduals::CollectiveResiduals()
    : table_{"collectives",
             {"curve", "operation", "ranks", "islands", "bytes", "algorithm", "measured_us", "predicted_us",
              "log_error", "fitted", "source"},
             {}} {}

void CollectiveResiduals::add(const result::CurveFit& fit, const PlacedRows& rows, const config::KernelTables& tables,
                              const std::vector<spec::Cluster>& clusters) {
  const std::size_t step = (rows.size() + kMostPoints - 1) / kMostPoints;
  for (std::size_t i = 0; i < rows.size(); i += step) {
    const PlacedCollective& row = rows[i];
    const NetworkPrice predicted = price(row.work, clusters[row.on], row.algorithm);
    table_.rows.push_back(
        {fit.calibration, fit.family, fmt::to_string(row.work.group.size),
         fmt::to_string(row.work.group.sharing > 0 ? row.work.group.domains : 1), fmt::to_string(row.work.bytes),
         std::string(spec::name(predicted.algorithm)), fmt::format("{:.5g}", row.time.si() * 1e6),
         fmt::format("{:.5g}", predicted.time.si() * 1e6), fmt::format("{:.4f}", std::log(predicted.time / row.time)),
         fit.verdict == result::CurveFit::Verdict::replaced ? "yes" : "no", '"' + tables.sources[row.source] + '"'});
  }
}

}  // namespace sim
