// SPDX-License-Identifier: Apache-2.0
#include "sim/calibrate/attention_fit.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "sim/calibrate/least_squares.h"

namespace sim {
namespace {

using config::AttentionRow;
using spec::AttentionCurve;

const AttentionRow& attention_of(const config::MeasuredKernel& row) { return std::get<AttentionRow>(row.shape); }

/// What the rows differ in, and so what they can tell.
struct ToldByAttention {
  bool backward = false, both = false, framework = false, narrow = false, wide = false, unequal = false;
  std::set<std::int64_t> lengths, backward_lengths;
  std::set<bool> masks;

  ToldByAttention(const MeasuredRows& rows, bool pads) {
    for (const config::MeasuredKernel* row : rows) {
      const AttentionRow& s = attention_of(*row);
      backward |= s.passes == AttentionRow::Passes::backward;
      both |= s.passes == AttentionRow::Passes::both;
      framework |= !s.kernel;
      const bool equal = pads || s.head_dim == s.value_head_dim;
      narrow |= equal && s.head_dim < 128;
      wide |= equal && s.head_dim > 128;
      unequal |= !equal;
      lengths.insert(s.kv_len);
      if (s.passes == AttentionRow::Passes::backward) backward_lengths.insert(s.kv_len);
      masks.insert(s.causal);
    }
  }
};

/// One unknown and where it goes.
struct AttentionKnob {
  Unknown unknown;
  void (*set)(AttentionCurve&, double);
};

std::vector<AttentionKnob> knobs_of(const ToldByAttention& told, bool ratio_kept) {
  std::vector<AttentionKnob> out{{{"forward", 0.5, 0.02, 1.2}, [](AttentionCurve& c, double v) { c.forward = v; }}};
  if (!ratio_kept) out.push_back({{"backward", 0.4, 0.02, 1.2}, [](AttentionCurve& c, double v) { c.backward = v; }});
  if (told.lengths.size() > 2) {
    out.push_back({{"ramp", 150, 1, 2000}, [](AttentionCurve& c, double v) { c.ramp = v; }});
  }
  if (told.backward_lengths.size() > 2) {
    out.push_back({{"backward_ramp", 300, 1, 5000}, [](AttentionCurve& c, double v) { c.backward_ramp = v; }});
  }
  if (told.masks.size() > 1) {
    out.push_back({{"diagonal", 80, 1, 1000}, [](AttentionCurve& c, double v) { c.diagonal = v; }});
    out.push_back({{"causal", 0.95, 0.5, 1.2}, [](AttentionCurve& c, double v) { c.causal = v; }});
  }
  if (told.narrow)
    out.push_back({{"head_dim_64", 0.85, 0.3, 1.2}, [](AttentionCurve& c, double v) { c.head_dim_64 = v; }});
  if (told.wide)
    out.push_back({{"head_dim_256", 0.95, 0.1, 1.3}, [](AttentionCurve& c, double v) { c.head_dim_256 = v; }});
  if (told.unequal)
    out.push_back({{"unequal_heads", 0.95, 0.1, 1.3}, [](AttentionCurve& c, double v) { c.unequal_heads = v; }});
  return out;
}

double passes_of(const config::MeasuredKernel& row) {
  return attention_of(row).passes == AttentionRow::Passes::both ? 2 : 1;
}

/// The errors of rows that hold `host` in each pass.
std::vector<double> errors_with(base::Seconds host, const MeasuredRows& rows, const Device& device) {
  std::vector<double> out;
  const Device cool = short_run(device);
  for (const config::MeasuredKernel* row : rows) {
    out.push_back(std::log((time_of(*row, cool, device) + host * passes_of(*row)) / row->time));
  }
  return out;
}

/// Of forward rows and of backward rows; both passes alike where a table has one of them, or only both together.
void fit_low_precision(Device& device, AttentionCurve& curve, const MeasuredRows& rows) {
  const auto fitted = [&](double& constant, const MeasuredRows& of) {
    const Minimum best = minimise({{{"low_precision", 0.75, 0.2, 1.2}}, {}, [&](const std::vector<double>& x) {
                                     constant = x[0];
                                     return log_errors(of, device);
                                   }});
    constant = rounded(best.values[0]);
  };
  MeasuredRows forward, backward;
  for (const config::MeasuredKernel* row : rows) {
    const AttentionRow::Passes passes = attention_of(*row).passes;
    if (passes == AttentionRow::Passes::forward) forward.push_back(row);
    if (passes == AttentionRow::Passes::backward) backward.push_back(row);
  }
  curve.backward_low_precision = 0;
  curve.low_precision_measured = true;
  if (forward.empty() || backward.empty()) return fitted(curve.low_precision, rows);
  fitted(curve.low_precision, forward);
  fitted(curve.backward_low_precision, backward);
}

}  // namespace

base::Seconds fit_attention(Device& device, spec::AttentionKernel kernel, const MeasuredRows& rows) {
  AttentionCurve& curve = device.calibration.attention[static_cast<int>(kernel)];
  if (spec::bytes_of(attention_of(*rows.front()).dtype) < 2) {
    fit_low_precision(device, curve, rows);
    return {};
  }
  const bool amd = traits_of(device.gpu.generation).amd;
  const ToldByAttention told(rows, wants_equal_heads(kernel, amd));
  const bool ratio_kept = !curve.backward_measured && curve.forward > 0;
  const double ratio = ratio_kept ? curve.backward / curve.forward : 0;
  const std::vector<AttentionKnob> knobs = knobs_of(told, ratio_kept);
  LeastSquares problem;
  for (const AttentionKnob& knob : knobs) problem.unknowns.push_back(knob.unknown);
  if (told.framework) problem.unknowns.push_back({"host", 2e-5, 1e-7, 5e-4});
  const auto apply = [&](const std::vector<double>& x) {
    for (std::size_t i = 0; i < knobs.size(); ++i) knobs[i].set(curve, x[i]);
    if (ratio_kept) curve.backward = ratio * curve.forward;
    return told.framework ? base::Seconds(x.back()) : base::Seconds{};
  };
  problem.errors = [&](const std::vector<double>& x) { return errors_with(apply(x), rows, device); };
  Minimum best = minimise(problem);
  for (double& value : best.values) value = rounded(value);
  const base::Seconds host = apply(best.values);
  curve.backward = rounded(curve.backward);
  return host;
}

}  // namespace sim
