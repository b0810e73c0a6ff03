// SPDX-License-Identifier: Apache-2.0
#include "reports/html/measured_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/base/text.h"
#include "reports/html/measured_sections.h"
#include "reports/html/page.h"
#include "reports/layout.h"
#include "reports/quantity.h"

namespace reports {
namespace {

using result::MeasuredRun;
using result::MeasuredTime;
using result::StepDifference;

double predicted_s(const StepDifference& d) { return static_cast<double>(d.predicted_ps) / 1e12; }
double measured_s(const StepDifference& d) { return static_cast<double>(d.measured_ps) / 1e12; }

std::string against(double measured, double predicted) {
  return fmt::format("{} was predicted ({:+.1f} %)", seconds(predicted), (measured / predicted - 1) * 100);
}

bool means_something(const MeasuredTime& time) { return !time.shares_cards; }

std::string of_gpus(const MeasuredReport& report) {
  const MeasuredTime& time = *report.run->time;
  std::string out =
      fmt::format("One training step takes {} on {} GPU{} (80 % of steps {} to {})", seconds(time.median_s),
                  report.run->ranks, report.run->ranks == 1 ? "" : "s", seconds(time.low_s), seconds(time.high_s));
  if (!means_something(time)) return out + "; ranks share a card, so that no time here means anything";
  if (report.difference) out += "; " + against(time.median_s, predicted_s(*report.difference));
  return out;
}

std::string of_cpu(const MeasuredReport& report) {
  std::string out =
      fmt::format("Trained on {} rank{} of this machine's CPU", report.run->ranks, report.run->ranks == 1 ? "" : "s");
  if (!report.difference) return out;
  return out + fmt::format(": the recorded step took {} of the CPU, which measures no GPU",
                           seconds(measured_s(*report.difference)));
}

/// "; the loss goes from 3.9524 to 3.9121 in 10 steps"
std::string loss_words(const MeasuredRun& run) {
  if (run.losses.size() < 2) return "";
  return fmt::format("; the loss goes from {:.4f} to {:.4f} in {} steps", run.losses.front(), run.losses.back(),
                     run.losses.size());
}

std::string of_record(const StepDifference& d) {
  if (html::times_of(d, nullptr) == html::Times::of_cpu) {
    return fmt::format("The recorded step took {} of a CPU, which measures no GPU; {} is predicted for the GPUs",
                       seconds(measured_s(d)), seconds(predicted_s(d)));
  }
  return fmt::format("The step took {}; {}", seconds(measured_s(d)), against(measured_s(d), predicted_s(d)));
}

std::string answer(const MeasuredReport& report) {
  if (!report.run) return of_record(*report.difference) + '.';
  return (report.run->time ? of_gpus(report) : of_cpu(report)) + loss_words(*report.run) + '.';
}

void add_times(const MeasuredReport& report, std::vector<html::KeyFigure>& out) {
  if (report.run && report.run->time) {
    const MeasuredTime& time = *report.run->time;
    out.push_back({"Measured step", seconds(time.median_s), seconds(time.low_s) + " to " + seconds(time.high_s)});
    out.push_back({"Throughput", base::with_commas(std::llround(time.tokens_per_s)) + " tokens/s",
                   fmt::format("{} per GPU", base::with_commas(std::llround(time.tokens_per_s / report.run->ranks)))});
    if (time.mfu > 0) {
      out.push_back(
          {"Model FLOPs", percent(time.mfu) + " MFU", fmt::format("{:.0f} TFLOP/s per GPU", time.tflops_per_gpu)});
    }
  }
  if (!report.difference) return;
  const StepDifference& d = *report.difference;
  const html::Times times = html::times_of(d, report.run);
  const bool cpu = times == html::Times::of_cpu;
  out.push_back({cpu ? "Recorded, on the CPU" : "Recorded step", seconds(measured_s(d)),
                 cpu ? "no measurement of a GPU" : "under a profiler"});
  out.push_back({cpu ? "Predicted, on GPUs" : "Predicted step", seconds(predicted_s(d)),
                 times == html::Times::comparable ? "without a GPU" : "not to be compared"});
}

std::int64_t total(const std::vector<std::pair<std::string, std::int64_t>>& memory) {
  std::int64_t sum = 0;
  for (const auto& [name, bytes] : memory) sum += bytes;
  return sum;
}

std::vector<html::KeyFigure> key_figures(const MeasuredReport& report) {
  std::vector<html::KeyFigure> out;
  add_times(report, out);
  if (!report.run) return out;
  const MeasuredRun& run = *report.run;
  if (!run.losses.empty()) {
    out.push_back({"Loss", fmt::format("{:.4f}", run.losses.back()),
                   fmt::format("{:.4f} in the first of {} steps", run.losses.front(), run.losses.size())});
  }
  if (const std::int64_t bytes = total(run.memory.measured); bytes > 0) {
    out.push_back({"Memory", human(static_cast<double>(bytes), "B"),
                   human(static_cast<double>(total(run.memory.planned)), "B") + " by the Plan"});
  }
  return out;
}

std::vector<std::string> notes(const MeasuredReport& report) {
  std::vector<std::string> out = report.run ? report.run->notes : std::vector<std::string>{};
  if (!report.difference) return out;
  for (const std::string& note : report.difference->notes) {
    if (std::find(out.begin(), out.end(), note) == out.end()) out.push_back(note);
  }
  return out;
}

std::string title(const MeasuredReport& report) {
  if (report.run) return report.run->job;
  const StepDifference& d = *report.difference;
  return (d.job.empty() ? "A recorded step" : d.job) + ", held against " + d.trace + " (" + d.source + ')';
}

}  // namespace

void write_html(const MeasuredReport& report, std::ostream& out) {
  html::Page page{report.command, title(report), answer(report), false, key_figures(report), {}, report.version};
  const auto add = [&](const char* id, const char* title, std::string body) {
    page.sections.push_back({id, title, std::move(body)});
  };
  const MeasuredRun* run = report.run;
  const StepDifference* difference = report.difference;
  if (run && run->time) add("steps", "Step times", html::step_times_section(*run->time));
  if (difference) {
    const html::Times times = html::times_of(*difference, run);
    const auto scale = times == html::Times::comparable ? html::TimeScale::one : html::TimeScale::own;
    add("timeline", "Timeline, predicted over measured",
        html::timeline_section(report.traces, report.bytes_of_work, scale));
    add("difference", "Operator by operator", html::difference_section(*difference, times));
  }
  if (run) {
    add("losses", "Losses", html::losses_section(*run));
    add("memory", "Memory", html::measured_memory_section(*run));
    add("cards", "The GPUs", html::cards_section(*run));
  }
  add("notes", "To know", html::list_of(notes(report)));
  html::write(page, out);
}

}  // namespace reports
