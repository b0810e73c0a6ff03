// SPDX-License-Identifier: Apache-2.0
#include "reports/html/prediction_page.h"

#include <fmt/format.h>

#include <cmath>

#include "core/base/text.h"
#include "reports/html/page.h"
#include "reports/html/prediction_sections.h"
#include "reports/html/timeline.h"
#include "reports/layout.h"
#include "reports/quantity.h"

namespace reports {
namespace {

using result::Prediction;

std::string thousands(double value) { return base::with_commas(std::llround(value)); }

/// "One step takes 15.6 s, 80 % interval 14.2 s to 19.1 s, on 64 GPUs: 67,352 tokens/s at 47.8 % MFU."
std::string answer(const Prediction& p) {
  const char* what = p.mode == "prefill"  ? "One prefill"
                     : p.mode == "decode" ? "One step of decoding"
                                          : "One training step";
  std::string out =
      fmt::format("{} takes {} (80 % interval {} to {}) on {} GPU{}: {} {}/s at {} MFU", what, seconds(p.step_time_s),
                  seconds(p.step_time_low_s), seconds(p.step_time_high_s), base::with_commas(p.gpus),
                  p.gpus == 1 ? "" : "s", thousands(p.tokens_per_s), counted(p), percent(p.mfu));
  if (p.fits) return out + ".";
  if (p.peak_bytes <= p.capacity_bytes) return out + ". But it does not fit.";
  return out +
         fmt::format(". But it does not fit: a GPU needs {} of its {}.", bytes(p.peak_bytes), bytes(p.capacity_bytes));
}

std::vector<html::KeyFigure> key_figures(const Prediction& p) {
  std::vector<html::KeyFigure> out{
      {"Step time", seconds(p.step_time_s), seconds(p.step_time_low_s) + " to " + seconds(p.step_time_high_s)}};
  if (p.time_to_first_token_s) out.push_back({"First token", seconds(*p.time_to_first_token_s), "of the whole batch"});
  if (p.time_per_output_token_s) out.push_back({"Each token", seconds(*p.time_per_output_token_s), "of each sequence"});
  out.push_back({"Throughput", fmt::format("{} {}/s", thousands(p.tokens_per_s), counted(p)),
                 fmt::format("{} per GPU", thousands(p.tokens_per_s_per_gpu))});
  out.push_back(
      {"Model FLOPs", percent(p.mfu) + " MFU", fmt::format("{:.0f} TFLOP/s per GPU", p.model_tflops_per_gpu)});
  out.push_back({"Memory", bytes(p.peak_bytes), "of " + bytes(p.capacity_bytes) + ", fullest GPU"});
  out.push_back({"Pipeline bubble", percent(p.bubble_fraction), "of the step"});
  return out;
}

}  // namespace

void write_html(const PredictionReport& report, std::ostream& out) {
  const Prediction& p = *report.prediction;
  const trace::Trace* trace = report.traces.empty() ? nullptr : report.traces.front().trace;
  html::Page page{"predict", p.job, answer(p), !p.fits, key_figures(p), {}, report.version};
  const auto add = [&](const char* id, const char* title, std::string body) {
    page.sections.push_back({id, title, std::move(body)});
  };
  add("mend", "How to make it fit", html::misfit_advice(p));
  add("time", "Where the time goes", html::breakdown_section(p));
  add("timeline", "Timeline", html::timeline_section(report.traces, report.bytes_of_work));
  if (trace) add("gpu-use", "Use of the GPUs", html::gpu_use_section(*trace));
  add("memory", "Memory", html::memory_section(p, trace));
  add("communication", "Communication", html::communication_section(p, report.topology));
  if (report.topology) add("topology", "Where the ranks sit", html::topology_section(*report.topology));
  if (report.sensitivity) add("sensitivity", "What would change it", html::sensitivity_section(*report.sensitivity));
  add("interval", "How sure this is", html::interval_section(p));
  add("sources", "Assumptions and sources", html::sources_section(p));
  html::write(page, out);
}

}  // namespace reports
