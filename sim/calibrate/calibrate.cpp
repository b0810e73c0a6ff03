// SPDX-License-Identifier: Apache-2.0
#include "sim/calibrate/calibrate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "core/base/parallel.h"
#include "sim/calibrate/attention_fit.h"
#include "sim/calibrate/families.h"
#include "sim/calibrate/follow.h"
#include "sim/calibrate/least_squares.h"
#include "sim/calibrate/matmul_fit.h"
#include "sim/calibrate/memory_fit.h"
#include "sim/calibrate/residuals.h"
#include "sim/validation/accuracy.h"

namespace sim {
namespace {

using What = Family::What;

constexpr std::size_t kFewestRows = 5;    // of a curve with several constants
constexpr double kLeastResidual = 0.02;   // rows of one session agree better than two machines do
constexpr double kMostResidual = 1;       // rows that scatter by a factor e are no curve
constexpr double kFewRowsResidual = 0.1;  // a single figure tells nothing of spread

/// One calibration, family after family.
class KernelFitter {
 public:
  KernelFitter(const config::KernelTables& tables, const Calibratable& one)
      : tables_(tables), original_{one.gpu, one.calibration}, device_(original_) {}

  void run() {
    families_ = families_of(tables_, device_, left_out_);
    for (const auto& [family, rows] : families_) {
      const std::string largest = rows.largest();
      for (const auto& [repository, some] : rows.by_repository) {
        if (repository == largest) fit(family, repository, some, rows.smallest.at(repository));
      }
      for (const auto& [repository, some] : rows.by_repository) {
        if (repository != largest) compare(family, repository, some);
      }
    }
  }

  /// What prices say at the end, when copies have followed.
  void tell(const spec::Calibration& final, result::KernelCalibration& report, Residuals& residuals) {
    device_.calibration = final;
    for (Case& one : cases_) {
      one.told.after = figures(log_errors(one.rows, device_));
      report.curves.push_back(one.told);
      residuals.add(one.told, one.rows, tables_, device_);
    }
    for (const auto& [why, rows] : left_out_) report.left_out[why] += rows;
  }
  const spec::Calibration& calibration() const { return device_.calibration; }

 private:
  struct Case {
    result::CurveFit told;
    MeasuredRows rows;
    std::vector<config::MeasuredKernel> changed;  // rows without the host's time, or at the pace of the curve's machine
    double slower = 1;                            // what single matmuls of these rows' machine take over the curve's
  };

  Case& begin(const Family& family, const std::string& repository, const MeasuredRows& rows) {
    result::CurveFit told;
    told.calibration = device_.calibration.name;
    told.family = name(family);
    told.source = repository;
    told.rows = static_cast<int>(rows.size());
    return cases_.emplace_back(Case{told, rows, {}});
  }

  void compare(const Family& family, const std::string& repository, const MeasuredRows& rows) {
    Case& one = begin(family, repository, rows);
    one.told.before = figures(log_errors(rows, original_));
  }

  void fit(const Family& family, const std::string& repository, const MeasuredRows& rows, base::Seconds smallest) {
    if (family.what != What::memory && rows.size() < kFewestRows) {
      compare(family, repository, rows);
      cases_.back().told.verdict = result::CurveFit::Verdict::too_few;
      return;
    }
    Case& one = begin(family, repository, rows);
    if (family.what == What::grouped) level(family.which, repository, one);
    Device trial = device_;
    const base::Seconds host = draw(trial, family, one.rows, smallest);
    if (host.si() > 0) take_out(host, one);
    const std::vector<double> weights = family.what == What::matmul ? matmul_weights(one.rows) : std::vector<double>();
    const std::vector<double> before = log_errors(one.rows, device_), after = log_errors(one.rows, trial);
    one.told.before = figures(log_errors(one.rows, original_));
    one.told.host_s = host.si();
    const bool better = robust_loss(after, weights) <= robust_loss(before, weights) * (1 + 1e-9) &&
                        figures(after).spread <= kMostResidual;
    one.told.verdict = better ? result::CurveFit::Verdict::replaced : result::CurveFit::Verdict::kept;
    if (!better) return;
    sign(trial, family, one, figures(after));
    device_ = std::move(trial);
  }

  static base::Seconds draw(Device& device, const Family& family, const MeasuredRows& rows, base::Seconds smallest) {
    switch (family.what) {
      case What::memory: return fit_memory(device, family.which, rows, smallest);
      case What::matmul: fit_matmul(device, static_cast<spec::Dtype>(family.which), rows); break;
      case What::grouped: fit_grouped(device, static_cast<spec::Dtype>(family.which), rows); break;
      case What::attention:
      case What::narrow_attention: return fit_attention(device, static_cast<spec::AttentionKernel>(family.which), rows);
    }
    return {};
  }

  /// What many products cost beside one is a ratio of one machine. Where the source of grouped matmuls timed single
  /// ones of that dtype, too, its times are held against these: its board may run at a lower power than the curve's.
  void level(int dtype, const std::string& repository, Case& one) const {
    const auto single = families_.find({What::matmul, dtype});
    if (single == families_.end() || single->second.largest() == repository) return;  // the curve is that source's own
    const auto rows = single->second.by_repository.find(repository);
    if (rows == single->second.by_repository.end() || rows->second.size() < kFewestRows) return;
    one.slower = std::exp(-figures(log_errors(rows->second, device_)).median);
    change(one, [&](const config::MeasuredKernel& row) { return row.time / one.slower; });
  }

  static void take_out(base::Seconds host, Case& one) {
    change(one, [&](const config::MeasuredKernel& row) {
      const auto* attention = std::get_if<config::AttentionRow>(&row.shape);
      const bool both = attention != nullptr && attention->passes == config::AttentionRow::Passes::both;
      return std::max(row.time - host * (both ? 2 : 1), row.time * 0.1);
    });
  }

  template <class TimeOf>
  static void change(Case& one, TimeOf&& time_of) {
    for (const config::MeasuredKernel* row : one.rows) one.changed.emplace_back(*row).time = time_of(*row);
    for (std::size_t i = 0; i < one.rows.size(); ++i) one.rows[i] = &one.changed[i];
  }

  /// Where a new curve comes from, in its provenance.
  void sign(Device& device, const Family& family, const Case& one, const result::LogErrors& now) const {
    const double least = one.rows.size() < 3 ? kFewRowsResidual : kLeastResidual;
    spec::Provenance from{true, source_of(family, one), static_cast<int>(one.rows.size()),
                          rounded(std::max(now.spread, least))};
    spec::Calibration& c = device.calibration;
    switch (family.what) {
      case What::memory: c.memory[family.which].from = from; break;
      case What::grouped: c.matmul[family.which].grouped.from = from; break;
      case What::attention: c.attention[family.which].from = from; break;
      case What::narrow_attention: break;  // one constant of a curve whose other rows speak for it
      case What::matmul:
        c.matmul[family.which].from = from;
        if (tells_passes(one.rows)) c.matmul[family.which].passes.from = from;
        if (cast_moved(device)) {
          from.source += "; the cast inside matmul rows, as 5 bytes an element of A in two kernels";
          from.residual = kCastResidual;
          c.memory[static_cast<int>(plan::MemoryBound::Kind::cast)].from = from;
        }
    }
  }

  bool cast_moved(const Device& trial) const {
    constexpr auto kCast = static_cast<std::size_t>(plan::MemoryBound::Kind::cast);
    const spec::MemoryCurve &was = device_.calibration.memory[kCast], &is = trial.calibration.memory[kCast];
    return was.efficiency != is.efficiency || was.overhead != is.overhead;
  }

  std::string source_of(const Family& family, const Case& one) const {
    std::set<int> used;
    for (const config::MeasuredKernel* row : one.rows) used.insert(row->source);
    std::string out;
    for (const int source : used) out += (out.empty() ? "" : ", ") + tables_.sources[source];
    if (family.what == What::matmul)
      out += "; sides of 256 and more, rows weigh 2 where all reach 1,024, 0.7 elsewhere";
    if (family.what == What::matmul && one.rows.size() < 1000)
      out += "; constants that so few rows do not tell are kept";
    if (one.told.host_s > 0) out += "; host time in each kernel found beside and left out";
    if (one.slower != 1) out += fmt::format("; against its own single matmuls, {:.2f} times the curve's", one.slower);
    return out + "; fitted by forerun calibrate --from-data";
  }

  static constexpr double kCastResidual = 0.2;  // told apart from the matmul around it, not timed alone

  const config::KernelTables& tables_;
  const Device original_;
  Device device_;
  std::map<Family, FamilyRows> families_;
  std::map<std::string, int> left_out_;
  std::vector<Case> cases_;
};

/// The sources of measured curves, in the file's order: those that speak for no curve any more go, new ones come last.
void list_sources(const spec::Calibration& before, spec::Calibration& now) {
  const auto of = [](const spec::Calibration& c) {
    std::vector<std::string> out;
    const auto note = [&out](const spec::Provenance& from) {
      if (from.measured && std::find(out.begin(), out.end(), from.source) == out.end()) out.push_back(from.source);
    };
    for (const auto& curve : c.matmul)
      note(curve.from), note(curve.grouped.from), note(curve.grouped_mm.from), note(curve.gradients.from),
          note(curve.unaligned.from), note(curve.passes.from);
    for (const auto& curve : c.attention) note(curve.from);
    for (const auto& curve : c.memory) note(curve.from);
    return out;
  };
  const std::vector<std::string> used_before = of(before), used = of(now);
  const auto in = [](const std::vector<std::string>& list, const std::string& one) {
    return std::find(list.begin(), list.end(), one) != list.end();
  };
  std::erase_if(now.sources, [&](const std::string& one) { return in(used_before, one) && !in(used, one); });
  for (const std::string& one : used) {
    if (!in(now.sources, one)) now.sources.push_back(one);
  }
}

/// Memory-bound kinds that a calibration assumes, "optimizer (a100-sxm, b200): as copy", by what they are taken from.
std::vector<std::string> assumed_kinds(const std::vector<Calibratable>& shelf,
                                       const std::vector<spec::Calibration>& now) {
  std::map<std::pair<std::size_t, std::string>, std::string> owners;
  for (std::size_t i = 0; i < shelf.size(); ++i) {
    if (!shelf[i].fitted) continue;
    for (std::size_t kind = 0; kind < now[i].memory.size(); ++kind) {
      const spec::MemoryCurve& curve = now[i].memory[kind];
      if (curve.efficiency <= 0 || curve.from.measured) continue;
      std::string& names = owners[{kind, curve.from.source}];
      names += (names.empty() ? "" : ", ") + now[i].name;
    }
  }
  std::vector<std::string> out;
  for (const auto& [key, names] : owners) {
    out.push_back(std::string(spec::kMemoryKindNames[key.first]) + " (" + names + "): " + key.second);
  }
  return out;
}

int nobodys(const config::KernelTables& tables, const std::vector<spec::Calibration>& calibrations) {
  std::set<std::string> known;
  for (const spec::Calibration& one : calibrations) known.insert(one.measured_as.begin(), one.measured_as.end());
  return static_cast<int>(std::count_if(tables.rows.begin(), tables.rows.end(),
                                        [&](const config::MeasuredKernel& row) { return !known.contains(row.gpu); }));
}

}  // namespace

FittedCalibrations calibrate_kernels(const config::KernelTables& tables, const std::vector<Calibratable>& shelf) {
  std::vector<KernelFitter> fitters;
  std::vector<spec::Calibration> before;
  for (const Calibratable& one : shelf) {
    fitters.emplace_back(tables, one);
    before.push_back(one.calibration);
  }
  base::parallel_for(shelf.size(), [&](std::size_t i) {
    if (shelf[i].fitted) fitters[i].run();
  });
  FittedCalibrations out;
  for (const KernelFitter& one : fitters) out.calibrations.push_back(one.calibration());
  out.report.followed = follow(before, out.calibrations);
  out.report.left_out = tables.left_out;
  if (const int rows = nobodys(tables, before); rows > 0)
    out.report.left_out["kernels of GPUs that no calibration is fitted to"] = rows;
  Residuals residuals;
  for (std::size_t i = 0; i < shelf.size(); ++i) {
    if (!shelf[i].fitted) continue;
    list_sources(before[i], out.calibrations[i]);
    fitters[i].tell(out.calibrations[i], out.report, residuals);
  }
  out.report.assumed = assumed_kinds(shelf, out.calibrations);
  out.report.residuals = std::move(residuals).tables();
  return out;
}

}  // namespace sim
