// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "reports/csv.h"
#include "reports/difference.h"
#include "reports/json.h"
#include "reports/json_object.h"

namespace reports {
namespace {

using result::AlignedOperator;
using result::DifferencePart;
using result::OperatorTime;
using result::StepDifference;
using Kind = DifferencePart::Kind;

const char* name_of(Kind kind) {
  switch (kind) {
    case Kind::operators: return "operators";
    case Kind::only_predicted: return "only_predicted";
    case Kind::only_measured: return "only_measured";
    case Kind::waiting: return "waiting";
    case Kind::idle: return "idle";
  }
  return "";
}

Json json_of(const OperatorTime& time) {
  return {{"count", time.count},
          {"busy_ps", time.busy_ps},
          {"waiting_ps", time.waiting_ps},
          {"in_step_ps", time.in_step_ps},
          {"waiting_in_step_ps", time.waiting_in_step_ps}};
}

Json json_of(const std::vector<DifferencePart>& parts) {
  Json out = Json::array();
  for (const DifferencePart& part : parts) {
    Json entry{{"kind", name_of(part.kind)}, {"family", part.family}};
    if (!part.name.empty()) entry["name"] = part.name;
    if (!part.phase.empty()) entry["phase"] = part.phase;
    entry["predicted"] = json_of(part.predicted);
    entry["measured"] = json_of(part.measured);
    entry["difference_ps"] = part.difference_ps();
    out.push_back(std::move(entry));
  }
  return out;
}

Json kernels_json(const StepDifference& d) {
  Json out = Json::array();
  for (const DifferencePart& part : d.kernels) {
    Json entry = json_of(part.measured);
    entry["name"] = part.name;
    entry["family"] = part.family;
    out.push_back(std::move(entry));
  }
  return out;
}

/// "0.000001234567": a decimal of seconds with every picosecond.
std::string exact(std::int64_t ps) {
  const std::int64_t size = ps < 0 ? -ps : ps;
  return fmt::format("{}{}.{:012}", ps < 0 ? "-" : "", size / 1'000'000'000'000, size % 1'000'000'000'000);
}

std::string number(int value) { return value < 0 ? "" : std::to_string(value); }

std::string times(bool there, std::int64_t start, const OperatorTime& time) {
  if (!there) return ",,,,";
  return fmt::format(",{},{},{},{}", exact(start), exact(time.busy_ps), exact(time.waiting_ps), exact(time.in_step_ps));
}

std::string row(const AlignedOperator& op) {
  return fmt::format("{},{},{},{},{},{},{}{}{}\n", cell(op.stream), cell(op.family), cell(op.name), cell(op.phase),
                     number(op.microbatch), number(op.chunk), number(op.layer),
                     times(op.has_predicted, op.predicted_start_ps, op.predicted),
                     times(op.has_measured, op.measured_start_ps, op.measured));
}

}  // namespace

std::string json(const StepDifference& d) {
  Json out;
  out["schema"] = kSchema;
  out["job"] = d.job;
  out["trace"] = d.trace;
  out["source"] = d.source;
  out["rank"] = d.rank;
  out["stage"] = d.stage;
  out["predicted_ps"] = d.predicted_ps;
  out["measured_ps"] = d.measured_ps;
  out["difference_ps"] = d.difference_ps();
  out["by_operator"] = d.by_operator;
  out["families"] = json_of(d.families);
  if (d.by_operator) {
    out["parts"] = json_of(d.parts);
  } else {
    out["kernels"] = kernels_json(d);
  }
  out["notes"] = d.notes;
  return text_of(out);
}

std::string csv(const StepDifference& d) {
  if (!d.by_operator) {
    std::string out = "family,name,count,measured_s,measured_in_step_s\n";
    for (const DifferencePart& part : d.kernels) {
      out += fmt::format("{},{},{},{},{}\n", cell(part.family), cell(part.name), part.measured.count,
                         exact(part.measured.busy_ps), exact(part.measured.in_step_ps));
    }
    return out;
  }
  std::string out =
      "stream,family,name,phase,microbatch,chunk,layer,predicted_start_s,predicted_s,predicted_waiting_s,"
      "predicted_in_step_s,measured_start_s,measured_s,measured_waiting_s,measured_in_step_s\n";
  for (const AlignedOperator& op : d.operators) out += row(op);
  return out;
}

}  // namespace reports
