// SPDX-License-Identifier: Apache-2.0
#include "cli/measure_on_cpu.h"
#include "cli/number.h"

#include <fmt/format.h>

#include <cmath>
#include <ostream>

#include "cli/exit_code.h"
#include "cli/job_flags.h"
#include "cli/measure_job.h"
#include "cli/measured_page.h"
#include "cli/measured_run.h"
#include "cli/output.h"
#include "cli/terminal.h"
#include "core/base/fault.h"
#include "core/config/catalogue.h"
#include "core/plan/build.h"
#include "core/plan/facts.h"
#include "core/spec/parameters.h"
#include "real/cpu/train.h"
#include "real/executor/token_file.h"
#include "reports/training_run.h"

namespace cli {
namespace {

constexpr int kMostSteps = 100'000, kMostRanks = 64;
constexpr double kMostParameters = 1e8;  // of all ranks together: weights, gradients and moments in double are 4 GB

[[noreturn]] void refuse(const std::string& field, const std::string& what, const std::string& mend) {
  throw base::InputError({{field, what, mend, {}}});
}

int steps_of(const Arguments& arguments) {
  if (!arguments.has("--steps")) return 10;
  const std::string text = arguments.get("--steps");
  if (const auto steps = number_in(text, 1, kMostSteps)) return *steps;
  refuse("--steps", "'" + text + "' is no number of steps",
         "give a whole number from 1 to " + std::to_string(kMostSteps));
}

void refuse_large(const spec::Job& job, const plan::Plan& plan) {
  const int ranks = plan.axes.ranks * plan.axes.stages;
  if (ranks > kMostRanks) {
    refuse("cluster", fmt::format("{} ranks on one CPU", ranks),
           fmt::format("choose degrees whose product is at most {}", kMostRanks));
  }
  const double copies = static_cast<double>(ranks) / (plan.pp * plan.tp);
  const double parameters = static_cast<double>(spec::parameters(job.model).total()) * copies;
  if (parameters > kMostParameters) {
    refuse("model", fmt::format("{:.3g} parameters in all replicas are too many for a CPU in double", parameters),
           fmt::format("choose a model that leaves at most {:.0g}", kMostParameters));
  }
}

}  // namespace

int measure_on_cpu(const Arguments& arguments) {
  const bool prints = on_stdout(arguments, {"--json", "--trace", "--html"}).empty();
  const int steps = steps_of(arguments);
  const spec::Job job = job_from(arguments, config::Catalogue::find());
  const plan::Plan plan = plan::build(job);
  if (std::vector<base::Fault> faults = real::unsupported(job, plan); !faults.empty()) throw base::InputError(faults);
  refuse_large(job, plan);
  const std::string file = arguments.get("--tokens");
  const real::Tokens tokens = real::tokens_of(file, spec::token_ids(job), steps + 1, plan.tokens);  // one is recorded
  const real::Trained trained =
      real::train_on_cpu(job, plan, tokens, {}, steps, {}, {}, arguments.has("--trace") || arguments.has("--html"));
  result::TrainingRun run{.model = job.model.name,
                          .backend = "cpu",
                          .tokens = file.empty() ? "synthetic" : file,
                          .ranks = plan.axes.ranks * plan.axes.stages,
                          .parameters = spec::parameters(job.model).total(),
                          .steps = {}};
  for (int i = 0; i < steps; ++i) {
    result::TrainedStep& step = run.steps.emplace_back();
    step.loss = trained.losses[i];
    if (!std::isnan(trained.gradient_norms[i])) step.gradient_norm = trained.gradient_norms[i];
  }
  if (arguments.has("--json")) {
    write_to(arguments.get("--json"), "--json", [&](std::ostream& out) { out << reports::training_run_json(run); });
  }
  if (trained.trace) {
    const Against against = held_against(job, {"cpu",
                                               plan::facts_of(job),
                                               {"recorded on a CPU: its times say nothing of a GPU"},
                                               *trained.trace,
                                               plan::work_kinds_of(plan)});
    write_timeline(against, arguments);
    const result::MeasuredRun told = run_on_cpu(run, trained.memory);
    write_measured_page({&job, &told, &against, "measure"}, arguments);
  }
  if (prints) print(reports::training_run_text(run, stdout_style()));
  return kAnswered;
}

}  // namespace cli
