// SPDX-License-Identifier: Apache-2.0
#include "cli/plots.h"

#include <algorithm>
#include <cassert>

#include "cli/answers.h"
#include "cli/job_flags.h"
#include "core/base/fault.h"
#include "core/base/near_names.h"
#include "core/base/text.h"
#include "core/config/catalogue.h"
#include "core/plan/build.h"
#include "reports/html/charts.h"
#include "sim/predict.h"
#include "sim/sensitivity.h"
#include "sim/topology.h"

namespace cli {
namespace {

using MaybeChart = std::optional<reports::html::Chart>;
namespace html = reports::html;

spec::Job job_of(const Arguments& args) { return job_from(args, config::Catalogue::find()); }

sim::Outcome with_every_operator(const Arguments& args) { return sim::predict(job_of(args), sim::Detail::operators); }

template <html::Chart (*Chart)(const result::Prediction&)>
MaybeChart of_prediction(const Arguments& args) {
  return Chart(sim::predict(job_of(args)).prediction);
}

template <html::Chart (*Chart)(const result::Topology&)>
MaybeChart of_topology(const Arguments& args) {
  const spec::Job job = job_of(args);
  return Chart(sim::topology(plan::build(job), job, sim::predict(job).prediction.step_time_s));
}

MaybeChart gpu_use(const Arguments& args) { return html::gpu_use_chart(with_every_operator(args).trace); }

MaybeChart memory_time(const Arguments& args) {
  const sim::Outcome outcome = with_every_operator(args);
  return html::memory_time_chart(outcome.prediction, outcome.trace);
}

MaybeChart sensitivity(const Arguments& args) { return html::sensitivity_chart(sim::sensitivity(job_of(args))); }
MaybeChart comparison(const Arguments& args) { return html::comparison_chart(compared(args)); }
MaybeChart trade_off(const Arguments& args) { return html::trade_off_chart(compared(args)); }

MaybeChart front(const Arguments& args) {
  const std::optional<result::Search> found = searched(args);
  if (!found) return std::nullopt;
  return html::trade_off_chart(*found);
}

MaybeChart accuracy(const Arguments& args) { return html::accuracy_chart(validated(args)); }
MaybeChart errors(const Arguments& args) { return html::error_chart(validated(args)); }

}  // namespace

const std::vector<Plot>& plots() {
  static const std::vector<Plot> all{
      {"step", "the step's time, part by part", "predict", of_prediction<html::step_chart>},
      {"gpu-use", "what each stage's GPUs do", "predict", gpu_use},
      {"memory", "what fills a GPU, by category", "predict", of_prediction<html::memory_chart>},
      {"memory-time", "memory during the step", "predict", memory_time},
      {"communication", "time of communication by axis", "predict", of_prediction<html::communication_chart>},
      {"links", "load of the links", "predict", of_topology<html::link_chart>},
      {"topology", "where the ranks sit", "predict", of_topology<html::topology_chart>},
      {"sensitivity", "inputs that change the step most", "predict", sensitivity},
      {"interval", "reasons for the interval", "predict", of_prediction<html::interval_chart>},
      {"comparison", "step times of jobs with their intervals", "compare", comparison},
      {"trade-off", "time against memory of jobs", "compare", trade_off},
      {"front", "time against memory of strategies", "search", front},
      {"accuracy", "predicted against measured steps", "validate", accuracy},
      {"errors", "how the errors are spread", "validate", errors},
  };
  return all;
}

const Command& command_of(const Plot& plot) {
  const std::vector<const Command*> all = commands();
  const auto found = std::find_if(all.begin(), all.end(), [&](const Command* one) { return one->name == plot.of; });
  assert(found != all.end());
  return **found;
}

const Plot& plot_named(const std::string& name) {
  std::vector<std::string> known;
  for (const Plot& plot : plots()) {
    if (plot.name == name) return plot;
    known.push_back(plot.name);
  }
  throw base::InputError({{"CHART",
                           "there is no chart '" + name + "'",
                           base::nearest_or(name, known, "`forerun plot --help` shows all"),
                           {}}});
}

}  // namespace cli
