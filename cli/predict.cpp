// cli/predict.cpp -- forerun predict [JOB] [flags] [--json FILE] [--trace FILE] [--html FILE]
// SPDX-License-Identifier: Apache-2.0
#include <ostream>
#include <utility>

#include "cli/command.h"
#include "cli/exit_code.h"
#include "cli/html.h"
#include "cli/job_flags.h"
#include "cli/launchable.h"
#include "cli/output.h"
#include "cli/terminal.h"
#include "core/config/catalogue.h"
#include "core/plan/build.h"
#include "core/plan/moved_bytes.h"
#include "reports/html/prediction_page.h"
#include "reports/json.h"
#include "reports/perfetto.h"
#include "reports/text.h"
#include "sim/advice.h"
#include "sim/predict.h"
#include "sim/sensitivity.h"
#include "sim/topology.h"

namespace cli {
namespace {

void write_page_of(const spec::Job& job, const sim::Outcome& outcome, std::ostream& out) {
  const plan::Plan plan = plan::build(job);
  const result::Topology topology = sim::topology(plan, job, outcome.prediction.step_time_s);
  const result::Sensitivity sensitivity = sim::sensitivity(job);
  reports::PredictionReport report{
      &outcome.prediction, {{"predicted", &outcome.trace}}, {}, &sensitivity, &topology, version()};
  for (const plan::Work& work : plan.works) report.bytes_of_work.push_back(plan::moved_bytes(work));
  reports::write_html(report, out);
}

int run_predict(const Arguments& args) {
  const std::string taken = on_stdout(args, {"--json", "--trace", "--html"});
  check_html(args);
  const config::Catalogue catalogue = config::Catalogue::find();
  const config::Value tree = job_tree(args, catalogue, 0);
  const spec::Job job = job_of(tree, args, catalogue);
  const bool every_operator = args.has("--trace") || args.has("--html");
  sim::Outcome outcome = sim::predict(job, every_operator ? sim::Detail::operators : sim::Detail::chains);
  sim::advise(job, outcome.prediction, sayable_changes(tree, catalogue, job.framework.launcher));
  outcome.prediction.mends = behind(args, std::move(outcome.prediction.mends));
  write_if_asked(args, "--json", [&] { return reports::json(outcome.prediction); });
  if (args.has("--trace")) {
    write_to(args.get("--trace"), "--trace", [&](std::ostream& out) { reports::write_perfetto(outcome.trace, out); });
  }
  write_page(args, [&](std::ostream& out) { write_page_of(job, outcome, out); });
  if (taken.empty() && !args.has("--quiet")) print(reports::summary(outcome.prediction, stdout_style()));
  return outcome.prediction.fits ? kAnswered : kDoesNotFit;
}

}  // namespace

const Command predict{
    .name = "predict",
    .summary = "Predicts the time and memory of one training step, without a GPU.",
    .operands = {job_operand()},
    .options = with_job_flags({{"--json", "FILE", "write the result (docs/output.md); - prints only it"},
                               {"--trace", "FILE", "write the timeline for ui.perfetto.dev; - prints only it"},
                               html_option(),
                               {"--quiet", "", "no summary: exit code and files only"}}),
    .notes = job_notes() + "\nexit codes: 0 it fits, 1 it does not, 2 the input is wrong\n",
    .examples = {{"forerun predict llama3-70b-64xh100", "a step of Llama 3 70B on 64 H100"},
                 {"forerun predict llama3-70b-64xh100 --set strategy.recompute=full --json -",
                  "the same with full recomputation, for programs"},
                 {"forerun predict --model llama3-8b --node dgx-h100 --sequence 8192 --global-batch 128 --zero 1",
                  "a job of flags alone"},
                 {"forerun predict llama3-8b-32xh200 --quiet --trace step.json", "a timeline for ui.perfetto.dev"}},
    .run = run_predict,
};

}  // namespace cli
