// SPDX-License-Identifier: Apache-2.0
#include "sim/calibrate/follow.h"

#include <array>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "sim/calibrate/measured_row.h"

namespace sim {
namespace {

using spec::AttentionCurve;
using spec::MatmulCurve;
using spec::MemoryCurve;

bool alike(const MatmulCurve& a, const MatmulCurve& b) {
  return a.ceiling > 0 && a.tile_m == b.tile_m && a.tile_n == b.tile_n && a.half_tile == b.half_tile &&
         a.quarter_tile == b.quarter_tile && a.k_half == b.k_half && a.wave_share == b.wave_share &&
         a.memory == b.memory && a.overhead == b.overhead;
}
bool alike(const AttentionCurve& a, const AttentionCurve& b) {
  return a.forward > 0 && a.ramp == b.ramp && a.backward_ramp == b.backward_ramp && a.diagonal == b.diagonal &&
         a.causal == b.causal && a.head_dim_256 == b.head_dim_256 && a.unequal_heads == b.unequal_heads &&
         a.overhead == b.overhead;
}
bool alike(const MemoryCurve& a, const MemoryCurve& b) {
  return a.efficiency > 0 && a.efficiency == b.efficiency && a.overhead == b.overhead;
}

bool same(const MatmulCurve& a, const MatmulCurve& b) {
  return alike(a, b) && a.ceiling == b.ceiling && a.passes.input_gradient == b.passes.input_gradient &&
         a.passes.weight_gradient == b.passes.weight_gradient;
}
bool same(const AttentionCurve& a, const AttentionCurve& b) {
  return alike(a, b) && a.forward == b.forward && a.backward == b.backward && a.head_dim_64 == b.head_dim_64 &&
         a.low_precision == b.low_precision && a.backward_low_precision == b.backward_low_precision;
}
bool same(const MemoryCurve& a, const MemoryCurve& b) { return alike(a, b); }

double scaled(double own, double before, double now) { return before == now ? own : rounded(own * now / before); }

void take(MatmulCurve& own, const MatmulCurve& before, const MatmulCurve& now) {
  own.ceiling = scaled(own.ceiling, before.ceiling, now.ceiling);
  own.half_tile = now.half_tile;
  own.quarter_tile = now.quarter_tile;
  own.k_half = now.k_half;
  own.wave_share = now.wave_share;
  own.memory = now.memory;
  own.overhead = now.overhead;
  if (own.passes.from.measured) return;  // drawn together with a ceiling: forward's
  own.passes = now.passes;
  if (!own.passes.known()) return;
  own.passes.from.measured = false;
  own.passes.from.rows = 0;
}
void take(AttentionCurve& own, const AttentionCurve& before, const AttentionCurve& now) {
  own.forward = scaled(own.forward, before.forward, now.forward);
  own.backward = scaled(own.backward, before.backward, now.backward);
  own.ramp = now.ramp;
  own.backward_ramp = now.backward_ramp;
  own.diagonal = now.diagonal;
  own.causal = now.causal;
  if (own.head_dim_64 == before.head_dim_64) own.head_dim_64 = now.head_dim_64;
  own.head_dim_256 = now.head_dim_256;
  own.unequal_heads = now.unequal_heads;
  if (own.low_precision == before.low_precision && own.backward_low_precision == before.backward_low_precision) {
    own.low_precision = now.low_precision;
    own.backward_low_precision = now.backward_low_precision;  // of another card, so that it stays assumed
  }
}
void take(MemoryCurve& own, const MemoryCurve&, const MemoryCurve& now) {
  own.efficiency = now.efficiency;
  own.overhead = now.overhead;
}

/// One family over all calibrations.
template <class Curves, class Names>
class Following {
 public:
  Following(Curves spec::Calibration::*family, std::string_view title, const Names& names,
            const std::vector<spec::Calibration>& before, std::vector<spec::Calibration>& now)
      : family_(family), title_(title), names_(names), before_(before), now_(now) {}

  /// Fitted curves lead their copies, and these lead theirs in their own file.
  void run(std::vector<std::string>& told) {
    each([&](Place own) {
      if (const auto lead = leader(own)) take_from(*lead, own, told);
    });
    const std::set<Place> led = followed_;
    each([&](Place own) {
      if (followed_.contains(own)) return;
      for (std::size_t i = 0; i < names_.size(); ++i) {
        const Place lead{own.first, i};
        if (led.contains(lead) && alike(before(lead), before(own))) return take_from(lead, own, told);
      }
    });
  }

 private:
  using Place = std::pair<std::size_t, std::size_t>;  // which file, which of its curves

  const auto& before(Place at) const { return (before_[at.first].*family_)[at.second]; }
  auto& now(Place at) { return (now_[at.first].*family_)[at.second]; }

  template <class Body>
  void each(Body body) {
    for (std::size_t file = 0; file < now_.size(); ++file) {
      for (std::size_t i = 0; i < names_.size(); ++i) {
        if (!now({file, i}).from.measured) body(Place{file, i});
      }
    }
  }

  std::optional<Place> leader(Place own) const {
    const auto leads = [&](Place at) { return before(at).from.measured && alike(before(at), before(own)); };
    for (std::size_t i = 0; i < names_.size(); ++i) {
      if (leads({own.first, i})) return Place{own.first, i};
    }
    for (std::size_t file = 0; file < now_.size(); ++file) {
      if (leads({file, own.second})) return Place{file, own.second};
    }
    return std::nullopt;
  }

  void take_from(Place lead, Place own, std::vector<std::string>& told) {
    if (same(before(lead), now(lead))) return;
    take(now(own), before(lead), now(lead));
    followed_.insert(own);
    told.push_back(label(own) + ": as " + label(lead));
  }

  std::string label(Place at) const {
    return before_[at.first].name + ' ' + std::string(title_) + ' ' + std::string(names_[at.second]);
  }

  Curves spec::Calibration::*family_;
  std::string_view title_;
  const Names& names_;
  const std::vector<spec::Calibration>& before_;
  std::vector<spec::Calibration>& now_;
  std::set<Place> followed_;
};

bool same_pace(const spec::GroupedPace& a, const spec::GroupedPace& b) { return a.pace == b.pace && a.each == b.each; }

/// Groups are priced by a part of the dtype's curve, which may be another dtype's or another GPU's.
void follow_grouped(const std::vector<spec::Calibration>& before, std::vector<spec::Calibration>& now,
                    std::vector<std::string>& told) {
  const auto each = [](auto body) {
    for (int dtype = 0; dtype < spec::kDtypes; ++dtype) body(dtype);
  };
  const auto label = [&](std::size_t file, int dtype) {
    return before[file].name + " grouped " + std::string(spec::kNamesOf<spec::Dtype>[dtype]);
  };
  const std::vector<spec::Calibration> fitted = now;
  for (std::size_t lead = 0; lead < now.size(); ++lead) {
    each([&](int of) {
      const MatmulCurve &was = before[lead].matmul[of], &is = fitted[lead].matmul[of];
      const bool moved = !same_pace(was.grouped, is.grouped);
      if (!was.grouped.from.measured || !moved) return;
      for (std::size_t file = 0; file < now.size(); ++file) {
        each([&](int dtype) {
          const MatmulCurve& copy = before[file].matmul[dtype];
          const bool assumed = copy.grouped.known() && !fitted[file].matmul[dtype].grouped.from.measured;
          if (!assumed || !same_pace(copy.grouped, was.grouped)) return;
          now[file].matmul[dtype].grouped.pace = is.grouped.pace;
          now[file].matmul[dtype].grouped.each = is.grouped.each;
          told.push_back(label(file, dtype) + ": as " + label(lead, of));
        });
      }
    });
  }
}

}  // namespace

std::vector<std::string> follow(const std::vector<spec::Calibration>& before, std::vector<spec::Calibration>& now) {
  std::vector<std::string> told;
  Following(&spec::Calibration::matmul, "matmul", spec::kNamesOf<spec::Dtype>, before, now).run(told);
  follow_grouped(before, now, told);
  Following(&spec::Calibration::attention, "attention", spec::kNamesOf<spec::AttentionKernel>, before, now).run(told);
  Following(&spec::Calibration::memory, "memory", spec::kMemoryKindNames, before, now).run(told);
  return told;
}

}  // namespace sim
