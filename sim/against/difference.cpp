// SPDX-License-Identifier: Apache-2.0
#include "sim/against/difference.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "core/base/fault.h"
#include "sim/against/alignment.h"
#include "sim/against/parts.h"
#include "sim/against/side.h"

namespace sim {
namespace {

using result::AlignedOperator;
using result::DifferencePart;
using result::OperatorTime;
using result::StepDifference;
using trace::Recorded;
using trace::Span;
using Kind = DifferencePart::Kind;

Kind kind_of(bool predicted, bool measured) {
  if (!measured) return Kind::only_predicted;
  return predicted ? Kind::operators : Kind::only_measured;
}

AlignedOperator told(const SpanPair& pair, const Side& predicted, const Side& measured) {
  const Side& side = pair.one ? predicted : measured;
  const SpanPlace place = pair.one ? *pair.one : *pair.other;
  const Span& span = side.rank.at(place);
  AlignedOperator out;
  out.stream = side.track(place.track).stream;
  out.family = side.family_with_axis(span);
  out.name = side.trace().names[span.name];
  out.phase = side.trace().phases[span.phase];
  std::tie(out.microbatch, out.chunk, out.layer) = std::tuple<int, int, int>(span.microbatch, span.chunk, span.layer);
  if ((out.has_predicted = pair.one.has_value())) {
    out.predicted = predicted.time_of(*pair.one);
    out.predicted_start_ps = predicted.rank.at(*pair.one).start - predicted.begin;
  }
  if ((out.has_measured = pair.other.has_value())) {
    out.measured = measured.time_of(*pair.other);
    out.measured_start_ps = measured.rank.at(*pair.other).start - measured.begin;
  }
  return out;
}

void tell_operators(const Side& predicted, const Side& measured, StepDifference& out) {
  Parts parts;
  bool any = false;
  for (const SpanPair& pair : align(predicted.rank, measured.rank)) {
    const AlignedOperator& op = out.operators.emplace_back(told(pair, predicted, measured));
    any = any || (op.has_predicted && op.has_measured);
    DifferencePart& part = parts.at(kind_of(op.has_predicted, op.has_measured), op.family, op.name, op.phase);
    part.predicted += op.predicted;
    part.measured += op.measured;
  }
  if (!any) {
    throw base::InputError(
        {{"trace",
          "has no operator in common with the prediction, such as '" + out.operators.front().name + "'",
          "name the job that was measured",
          {}}});
  }
  parts.split_waiting();
  each_gap(predicted, [&](const std::string& name, const std::string& phase, const OperatorTime& time) {
    parts.at(Kind::idle, "idle", name, phase).predicted += time;
  });
  each_gap(measured, [&](const std::string& name, const std::string& phase, const OperatorTime& time) {
    parts.at(Kind::idle, "idle", name, phase).measured += time;
  });
  out.parts = parts.largest_first();
  out.families = by_family(out.parts);
}

/// Kernels of a profile are the prediction's but for a few of libraries: of another job where they are not.
void doubt_counts(const std::pair<OperatorTime, OperatorTime>& matmuls, std::vector<std::string>& notes) {
  const auto [predicted, measured] = std::pair(matmuls.first.count, matmuls.second.count);
  if (predicted <= 2 * measured && measured <= 2 * predicted) return;
  notes.push_back(std::to_string(measured) + " matmuls were recorded where " + std::to_string(predicted) +
                  " are predicted: of another job, or not one whole step");
}

/// "all_gather of 8" where the record tells of every collective how many took part; "all_gather" otherwise.
class KernelFamily {
 public:
  explicit KernelFamily(const Side& predicted, const Side& measured) {
    std::set<std::string> collectives;
    for (const trace::WorkKind& kind : predicted.recorded->kinds) {
      if (kind.ranks > 0) collectives.insert(kind.family);
    }
    each_span(measured, [&](const Span& span, const OperatorTime&) {
      const trace::WorkKind kind = measured.kind_of(span);
      sized_ = sized_ && (kind.ranks > 0 || !collectives.contains(kind.family));
    });
  }
  std::string operator()(const trace::WorkKind& kind) const {
    return kind.family + (sized_ && kind.ranks > 0 ? " of " + std::to_string(kind.ranks) : "");
  }

 private:
  bool sized_ = true;
};

void tell_kernels(const Side& predicted, const Side& measured, StepDifference& out) {
  const KernelFamily family_of(predicted, measured);
  std::map<std::string, std::pair<OperatorTime, OperatorTime>> families;
  Parts kernels;
  each_span(predicted, [&](const Span& span, const OperatorTime& time) {
    if (time.busy_ps > 0) families[family_of(predicted.kind_of(span))].first += time;
  });
  each_span(measured, [&](const Span& span, const OperatorTime& time) {
    const std::string family = family_of(measured.kind_of(span));
    families[family].second += time;
    kernels.at(Kind::only_measured, family, measured.trace().names[span.name]).measured += time;
  });
  doubt_counts(families["matmul"], out.notes);
  Parts parts;
  for (const auto& [family, times] : families) {
    DifferencePart& part = parts.at(kind_of(times.first.count > 0, times.second.count > 0), family);
    std::tie(part.predicted, part.measured) = times;
  }
  DifferencePart& idle = parts.at(Kind::idle, "idle");
  each_gap(predicted, [&](const auto&, const auto&, const OperatorTime& time) { idle.predicted += time; });
  each_gap(measured, [&](const auto&, const auto&, const OperatorTime& time) { idle.measured += time; });
  out.families = parts.largest_first();
  out.kernels = kernels.largest_first();
  std::stable_sort(out.kernels.begin(), out.kernels.end(),
                   [](const auto& a, const auto& b) { return a.measured.busy_ps > b.measured.busy_ps; });
}

}  // namespace

StepDifference difference(const Recorded& predicted, const Recorded& measured, std::optional<int> rank) {
  const Side there = measured_side(measured, rank);
  const Side here = predicted_side(predicted, measured, there.track(0));
  StepDifference out;
  out.source = measured.source;
  out.notes = measured.notes;
  out.rank = there.track(0).rank;
  out.stage = there.track(0).stage;
  out.predicted_ps = here.end - here.begin;
  out.measured_ps = there.end - there.begin;
  out.by_operator = trace::tells_operators(measured);
  if (out.by_operator) {
    tell_operators(here, there, out);
  } else {
    tell_kernels(here, there, out);
  }
  return out;
}

}  // namespace sim
