// SPDX-License-Identifier: Apache-2.0
#include "sim/calibrate/matmul_fit.h"

#include <algorithm>

#include "sim/calibrate/least_squares.h"

namespace sim {
namespace {

constexpr std::size_t kSweep = 1000;  // rows from which all constants can be told: thin and small ones are among them
constexpr std::size_t kSeveral = 40;  // rows from which ramp and waves can be told
constexpr std::size_t kOfAPass = 20;  // rows of each pass from which their paces can be told
constexpr std::size_t kFirstLook = 1500;  // rows that a search begins with; all of them end it

const config::MatmulRow& matmul_of(const config::MeasuredKernel& row) { return std::get<config::MatmulRow>(row.shape); }

/// Every so many rows that at most `most` are left: tables are ordered by shape, so all shapes stay.
MeasuredRows thinned(const MeasuredRows& rows, std::size_t most) {
  MeasuredRows out;
  const std::size_t step = (rows.size() + most - 1) / most;
  for (std::size_t i = 0; i < rows.size(); i += std::max<std::size_t>(step, 1)) out.push_back(rows[i]);
  return out;
}

struct Start {
  double k_half, wave_share, half_tile, quarter_tile;
};
/// Two kinds of library: deep pipelines and whole waves, or persistent kernels that hide both.
constexpr Start kStarts[] = {{150, 0.3, 0.8, 0.8}, {5, 0.05, 0.97, 0.95}};

/// What the rows can tell.
struct ToldByMatmuls {
  std::size_t rows = 0;
  bool passes = false, cast = false;
};

std::vector<Unknown> unknowns(const Start& start, const ToldByMatmuls& told) {
  std::vector<Unknown> out{{"ceiling", 0.75, 0.02, 1.1}, {"overhead", 3e-6, 1e-6, 3e-5}};
  if (told.rows >= kSeveral) {
    out.push_back({"k_half", start.k_half, 0.1, 2000});
    out.push_back({"wave_share", start.wave_share, 0, 1, false});
  }
  if (told.rows >= kSweep) {
    out.push_back({"half_tile", start.half_tile, 0.3, 1});
    out.push_back({"quarter_tile", start.quarter_tile, 0.3, 1});
    out.push_back({"memory", 0.7, 0.2, 1.1});
  }
  if (told.passes) {
    out.push_back({"input_gradient", 0.95, 0.5, 1.3});
    out.push_back({"weight_gradient", 0.95, 0.5, 1.3});
  }
  if (told.cast) {
    out.push_back({"cast efficiency", 0.6, 0.2, 1.0});
    out.push_back({"cast overhead", 4e-6, 1e-6, 8e-6});
  }
  return out;
}

void apply(const std::vector<double>& x, const ToldByMatmuls& told, spec::Dtype dtype, spec::Calibration& calibration) {
  spec::MatmulCurve& curve = calibration.matmul[static_cast<int>(dtype)];
  curve.ceiling = x[0];
  curve.overhead = base::Seconds(x[1]);
  if (told.rows >= kSeveral) {
    curve.tile_m = 128;
    curve.tile_n = 256;
    curve.k_half = x[2];
    curve.wave_share = x[3];
  }
  if (told.rows >= kSweep) {
    curve.half_tile = x[4];
    curve.quarter_tile = x[5];
    curve.memory = x[6];
  }
  if (told.passes) {
    const std::size_t at = x.size() - (told.cast ? 4 : 2);
    curve.passes.input_gradient = x[at];
    curve.passes.weight_gradient = x[at + 1];
  }
  if (!told.cast) return;
  spec::MemoryCurve& cast = calibration.memory[static_cast<int>(plan::MemoryBound::Kind::cast)];
  cast.efficiency = x[x.size() - 2];
  cast.overhead = base::Seconds(x[x.size() - 1]);
}

/// False: a constant of the cast went to its bound, and nothing was changed.
bool draw(Device& device, spec::Dtype dtype, const MeasuredRows& rows, const ToldByMatmuls& told) {
  Device trial = device;
  const auto problem = [&](std::vector<Unknown> start, const MeasuredRows& some) {
    return LeastSquares{std::move(start), matmul_weights(some), [&, some](const std::vector<double>& x) {
                          apply(x, told, dtype, trial.calibration);
                          return log_errors(some, trial);
                        }};
  };
  Minimum best;
  std::vector<Unknown> found;
  for (const Start& start : kStarts) {
    std::vector<Unknown> from = unknowns(start, told);
    Minimum minimum = minimise(problem(from, thinned(rows, kFirstLook)));
    if (!found.empty() && minimum.loss >= best.loss) continue;
    best = std::move(minimum);
    found = std::move(from);
  }
  for (std::size_t i = 0; i < found.size(); ++i) {
    found[i].start = std::clamp(best.values[i], found[i].least, found[i].most);
  }
  const LeastSquares whole = problem(found, rows);
  best = minimise(whole);
  if (told.cast && (best.at_bound(whole, found.size() - 1) || best.at_bound(whole, found.size() - 2))) return false;
  std::vector<double> written;
  for (const double value : best.values) written.push_back(rounded(value));
  apply(written, told, dtype, device.calibration);
  return true;
}

}  // namespace

std::vector<double> matmul_weights(const MeasuredRows& rows) {
  std::vector<double> out;
  for (const config::MeasuredKernel* row : rows) {
    const config::MatmulRow& s = matmul_of(*row);
    out.push_back(std::min({s.m, s.n, s.k}) >= 1024 ? 2 : 0.7);
  }
  return out;
}

bool tells_passes(const MeasuredRows& rows) {
  std::size_t of_input = 0, of_weights = 0;
  for (const config::MeasuredKernel* row : rows) {
    of_input += matmul_of(*row).input_gradient ? 1 : 0;
    of_weights += matmul_of(*row).over_tokens() ? 1 : 0;
  }
  return std::min(of_input, of_weights) >= kOfAPass;
}

void fit_matmul(Device& device, spec::Dtype dtype, const MeasuredRows& rows) {
  const bool cast = std::any_of(rows.begin(), rows.end(), [](const auto* row) { return matmul_of(*row).holds_cast; });
  ToldByMatmuls told{.rows = rows.size(), .passes = tells_passes(rows), .cast = cast};
  if (draw(device, dtype, rows, told)) return;
  told.cast = false;
  draw(device, dtype, rows, told);
}

void fit_grouped(Device& device, spec::Dtype dtype, const MeasuredRows& rows) {
  spec::Provenance& from = device.calibration.matmul[static_cast<int>(dtype)].grouped.from;
  if (from.source.empty()) from.source = "being fitted";  // without a source groups are priced as batches
  Device trial = device;
  const auto apply_to = [&](const std::vector<double>& x, spec::Calibration& calibration) {
    calibration.matmul[static_cast<int>(dtype)].grouped.pace = x[0];
    calibration.matmul[static_cast<int>(dtype)].grouped.each = base::Seconds(x[1]);
  };
  const Minimum best = minimise(
      {{{"pace", 0.9, 0.2, 1}, {"each", 2e-6, 1e-8, 2e-5}}, matmul_weights(rows), [&](const std::vector<double>& x) {
         apply_to(x, trial.calibration);
         return log_errors(rows, trial);
       }});
  apply_to({rounded(best.values[0]), rounded(best.values[1])}, device.calibration);
}

}  // namespace sim
