// SPDX-License-Identifier: Apache-2.0
#include "sim/calibrate/collective_fit.h"

#include <algorithm>
#include <set>
#include <utility>

#include "sim/calibrate/least_squares.h"
#include "sim/calibrate/measured_row.h"
#include "sim/network/collective_accuracy.h"
#include "sim/network/knobs.h"

namespace sim {
namespace {

using N = spec::NetworkCalibration;

constexpr std::int64_t kSmall = 128 << 10;                                         // up to here low latency rules
constexpr std::int64_t kStartUp = 64 << 10, kLarge = 4 << 20, kFilled = 64 << 20;  // from kFilled on ramps are over
constexpr int kFewest = 5;            // rows of a kind that tell a constant
constexpr std::size_t kRowsEach = 4;  // rows for each constant

/// What the rows that may run by a curve tell.
struct Told {
  int small = 0, starting = 0, large = 0;
  std::set<std::int64_t> sizes;  // between kStartUp and kFilled
  std::set<int> ranks, apart;    // ranks; islands of a fabric or ranks of an island
};

bool may_run_by(FittedCurve curve, spec::Algorithm told, const spec::Cluster& on) {
  using A = spec::Algorithm;
  if (curve == &N::nvls && !on.node.nvlink.multicast) return false;
  if (told == A::automatic) return true;
  if (curve == &N::tree) return told == A::tree || told == A::nvls_tree;
  if (curve == &N::nvls) return told == A::nvls || told == A::nvls_tree;
  return told == A::ring || told == A::direct;
}

Told told_by(const PlacedRows& rows, FittedCurve curve, bool fabric, const std::vector<spec::Cluster>& clusters) {
  Told out;
  for (const PlacedCollective& row : rows) {
    if (!may_run_by(curve, row.algorithm, clusters[row.on])) continue;
    const std::int64_t bytes = row.work.bytes;
    out.small += bytes <= kSmall;
    out.starting += bytes > kStartUp && bytes < kLarge;
    out.large += bytes >= kLarge;
    if (bytes > kStartUp && bytes < kFilled) out.sizes.insert(bytes);
    out.ranks.insert(row.work.group.size);
    out.apart.insert(fabric ? row.work.group.domains : row.work.group.size);
  }
  return out;
}

bool tells(const Told& told, const Knob& knob, FittedCurve member, const spec::PathCurve& curve) {
  const bool quick = knob.of != Knob::Of::simple;
  switch (knob.what) {
    case Knob::What::efficiency: return quick ? told.small >= kFewest : told.large >= kFewest;
    case Knob::What::ramp: return told.sizes.size() >= 4;
    case Knob::What::latency: return quick ? told.small >= kFewest : told.starting >= kFewest;
    case Knob::What::hop:
      if (member == &N::nvls) return false;  // one step whatever the ranks: not to be told from latency
      return (quick ? told.small : told.starting) >= kFewest && told.ranks.size() >= 2;
    case Knob::What::decay: return curve.decay > 0 && told.large >= kFewest && told.apart.size() >= 3;
    case Knob::What::local: return curve.local > 0 && told.large >= kFewest && told.ranks.size() >= 2;
  }
  return false;
}

struct Free {
  FittedCurve curve;
  const Knob* knob;
};

std::string name_of(const Free& one, const std::vector<FittedCurve>& curves) {
  if (curves.size() == 1 || one.curve == curves.front()) return one.knob->name;
  return std::string(one.curve == &N::tree ? "tree." : "nvls.") + one.knob->name;
}

/// Where the search begins: nothing that stands in a file.
double start_of(const Knob& knob, bool fabric, unsigned variant) {
  const bool quick = knob.of != Knob::Of::simple;
  switch (knob.what) {
    case Knob::What::efficiency:
      if (knob.of == Knob::Of::low_latency) return (variant & 4) != 0 ? 0.03 : 0.3;
      return quick ? 0.3 : 0.8;
    case Knob::What::ramp: return (variant & 1) != 0 ? 1e6 : 3e4;
    case Knob::What::latency: return quick ? 6e-6 : (variant & 2) != 0 ? 25e-6 : 8e-6;
    case Knob::What::hop: return fabric ? (quick ? 3e-6 : 10e-6) : (quick ? 1e-6 : 2e-6);
    case Knob::What::decay: return 0.1;
    case Knob::What::local: return 0.3;
  }
  return knob.least;
}
constexpr unsigned kVariants = 8;

void apply(const std::vector<Free>& free, const std::vector<double>& values, bool fabric,
           std::vector<spec::Cluster>& clusters) {
  for (spec::Cluster& cluster : clusters) {
    for (std::size_t i = 0; i < free.size(); ++i) {
      free[i].knob->set(path_of(cluster, fabric).*free[i].curve, values[i]);
    }
  }
}

struct Search {
  std::vector<double> values;
  std::vector<bool> at_bound;  // but for efficiencies, whose upper bound is the data sheet's
};

/// The best of several starts, on clusters of its own.
Search search(const std::vector<Free>& free, bool fabric, const PlacedRows& rows, std::vector<spec::Cluster> clusters) {
  LeastSquares problem{.unknowns = {}, .weights = collective_weights(rows), .errors = [&](const auto& values) {
                         apply(free, values, fabric, clusters);
                         return log_errors(rows, clusters);
                       }};
  Minimum best;
  for (unsigned variant = 0; variant < kVariants; ++variant) {
    problem.unknowns.clear();
    for (const Free& one : free) {
      problem.unknowns.push_back(
          {one.knob->name, start_of(*one.knob, fabric, variant), one.knob->least, one.knob->most});
    }
    Minimum found = minimise(problem);
    if (variant == 0 || found.loss < best.loss) best = std::move(found);
  }
  Search out;
  for (std::size_t i = 0; i < free.size(); ++i) {
    const double value = best.values[i], least = free[i].knob->least, most = free[i].knob->most;
    out.values.push_back(rounded(value));
    const bool top = value >= most * (1 - 1e-6) && free[i].knob->what != Knob::What::efficiency;
    out.at_bound.push_back(top || value <= least * (1 + 1e-6));
  }
  return out;
}

}  // namespace

std::vector<double> collective_weights(const PlacedRows& rows) {
  std::vector<double> out;
  for (const PlacedCollective& row : rows) out.push_back(row.work.bytes >= kLargeCollective ? 2 : 1);
  return out;
}

std::vector<std::string> fit_collective(std::vector<spec::Cluster>& clusters, bool fabric,
                                        const std::vector<FittedCurve>& curves, const PlacedRows& rows) {
  std::vector<Free> free;
  std::vector<std::string> kept;
  for (const Knob& knob : kKnobs) {
    for (const FittedCurve member : curves) {
      const spec::PathCurve& curve = path_of(clusters[rows.front().on], fabric).*member;
      if (!offered(knob, curve) || knob.get(curve) <= 0) continue;
      const Free one{member, &knob};
      const bool told = tells(told_by(rows, member, fabric, clusters), knob, member, curve);
      if (told && (free.size() + 1) * kRowsEach <= rows.size()) {
        free.push_back(one);
      } else {
        kept.push_back(name_of(one, curves));
      }
    }
  }
  const auto settle = [&](const Free& one) { kept.push_back(name_of(one, curves)); };
  while (!free.empty()) {
    const Search found = search(free, fabric, rows, clusters);
    const std::size_t stuck = std::erase_if(free, [&](const Free& one) {
      const bool at_bound = found.at_bound[static_cast<std::size_t>(&one - free.data())];
      if (at_bound) settle(one);
      return at_bound;
    });
    if (stuck == 0) {
      apply(free, found.values, fabric, clusters);
      break;
    }
  }
  return kept;
}

}  // namespace sim
