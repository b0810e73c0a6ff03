// SPDX-License-Identifier: Apache-2.0
#include "reports/training_run.h"

#include <fmt/format.h>

#include "reports/json_object.h"
#include "reports/layout.h"

namespace reports {

std::string training_run_text(const result::TrainingRun& run, const Style& style) {
  std::string out = paragraph("",
                              fmt::format("{} on {} rank{} of the CPU, in double: {} parameters, {} tokens", run.model,
                                          run.ranks, run.ranks == 1 ? "" : "s", run.parameters, run.tokens),
                              style.columns);
  out += fmt::format("{:>6}{:>12}{:>16}\n", "step", "loss", "gradient norm");
  for (std::size_t i = 0; i < run.steps.size(); ++i) {
    const result::TrainedStep& step = run.steps[i];
    const std::string norm = step.gradient_norm ? fmt::format("{:.6g}", *step.gradient_norm) : "not known";
    out += fmt::format("{:>6}{:>12.6f}{:>16}\n", i + 1, step.loss, norm);
  }
  return out + paragraph("", "Arithmetic alone: this run's times are no measurement of a GPU and are not shown.",
                         style.columns);
}

std::string training_run_json(const result::TrainingRun& run) {
  Json steps = Json::array();
  for (const result::TrainedStep& step : run.steps) {
    steps.push_back({{"loss", step.loss}, {"gradient_norm", step.gradient_norm ? Json(*step.gradient_norm) : Json()}});
  }
  return text_of({{"schema", 1},
                  {"backend", run.backend},
                  {"model", run.model},
                  {"ranks", run.ranks},
                  {"parameters", run.parameters},
                  {"tokens", run.tokens},
                  {"steps", steps}});
}

}  // namespace reports
