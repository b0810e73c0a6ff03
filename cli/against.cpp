// SPDX-License-Identifier: Apache-2.0
#include "cli/against.h"
#include "cli/number.h"

#include <istream>
#include <iterator>
#include <limits>
#include <optional>

#include "core/base/fault.h"
#include "core/config/gzip_stream.h"
#include "core/config/recorded_step.h"
#include "core/plan/build.h"
#include "core/plan/facts.h"
#include "real/trace/trace_file.h"
#include "sim/against/difference.h"
#include "sim/against/job_facts.h"
#include "sim/analysis/title.h"
#include "sim/predict.h"

namespace cli {
namespace {

const char kRank[] = "--rank";

std::optional<int> rank_of(const Arguments& args) {
  if (!args.has(kRank)) return {};
  const std::string text = args.get(kRank);
  if (const auto rank = number_in(text, 0, std::numeric_limits<int>::max())) return rank;
  throw base::InputError({{kRank, "'" + text + "' is no rank", "give a whole number, 0 or more", {}}});
}

/// Faults that sim/ finds in what a file says get the file's name.
[[noreturn]] void refuse(std::vector<base::Fault> faults, const std::string& file) {
  for (base::Fault& fault : faults) fault.where = {file, 0, 0};
  throw base::InputError(std::move(faults));
}

result::StepDifference difference(const trace::Recorded& predicted, const trace::Recorded& measured,
                                  const std::string& file, std::optional<int> rank) {
  try {
    result::StepDifference out = sim::difference(predicted, measured, rank);
    out.trace = file;
    return out;
  } catch (const base::InputError& error) {
    refuse(error.faults, file);
  }
}

/// Of a launcher's ranks (forerun-worker run --trace), which know no prediction, or as config::read_step() has it.
config::RecordedFile step_in(const std::string& file) {
  config::GzipBuffer buffer(file);
  std::istream in(&buffer);
  std::string text(real::kRecordedBegins.size(), '\0');
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (text != real::kRecordedBegins) return config::read_step(file);
  text.append(std::istreambuf_iterator<char>(in), {});
  if (!buffer.sound()) refuse({{"TRACE", "the packed file is broken or ends early", "fetch or write it again"}}, file);
  return {real::read_recorded(text, file), {}};
}

/// As a timeline has it beside the recorded one.
trace::Recorded predicted_step(const spec::Job& job) {
  trace::Recorded out;
  out.source = "simulator";
  out.facts = plan::facts_of(job);
  out.trace = sim::predict(job).trace;
  out.kinds = plan::work_kinds_of(plan::build(job));
  return out;
}

}  // namespace

Against held_against(const spec::Job& job, const Arguments& args, const std::string& option) {
  const std::string file = args.get(option);
  trace::Recorded measured = step_in(file).measured;
  trace::Recorded predicted = predicted_step(job);
  if (auto faults = sim::conflicts(predicted.facts, measured.facts); !faults.empty()) refuse(std::move(faults), file);
  for (std::string& doubt : sim::doubts(job, measured)) measured.notes.push_back(std::move(doubt));
  if (!trace::tells_operators(measured)) {
    const plan::Plan plan = plan::build(job);
    for (trace::Track& track : measured.trace.tracks) track.stage = plan.axes.stage_of(track.rank);
  }
  result::StepDifference told = difference(predicted, measured, file, rank_of(args));
  told.job = sim::title(job);
  return {std::move(predicted), std::move(measured), std::move(told)};
}

Against held_against_own(const Arguments& args, const std::string& option) {
  const std::string file = args.get(option);
  config::RecordedFile read = step_in(file);
  if (!read.predicted) {
    refuse({{"JOB", "is missing, and the trace holds no prediction", "name the job that was measured", {}}}, file);
  }
  result::StepDifference told = difference(*read.predicted, read.measured, file, rank_of(args));
  return {std::move(*read.predicted), std::move(read.measured), std::move(told)};
}

Against held_against(const spec::Job& job, trace::Recorded measured) {
  trace::Recorded predicted = predicted_step(job);
  result::StepDifference told = sim::difference(predicted, measured);
  told.job = sim::title(job);
  return {std::move(predicted), std::move(measured), std::move(told)};
}

}  // namespace cli
