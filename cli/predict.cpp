// cli/predict.cpp -- forerun predict [JOB] [flags] [--json FILE] [--trace FILE]
// SPDX-License-Identifier: Apache-2.0
#include <ostream>

#include "cli/command.h"
#include "cli/exit_code.h"
#include "cli/job_flags.h"
#include "cli/output.h"
#include "cli/terminal.h"
#include "core/base/fault.h"
#include "core/config/catalogue.h"
#include "reports/json.h"
#include "reports/perfetto.h"
#include "reports/text.h"
#include "sim/predict.h"

namespace cli {
namespace {

int run(const Arguments& args) {
  const std::string json = args.get("--json"), trace = args.get("--trace");
  if (json == "-" && trace == "-") {
    throw base::InputError({{"--trace", "stdout is taken by --json -", "give one of the two a file", {}}});
  }
  const spec::Job job = job_from(args, config::Catalogue::find());
  const sim::Outcome outcome = sim::predict(job, args.has("--trace") ? sim::Detail::operators : sim::Detail::chains);
  if (args.has("--json")) {
    write_to(json, "--json", [&](std::ostream& out) { out << reports::json(outcome.prediction); });
  }
  if (args.has("--trace")) {
    write_to(trace, "--trace", [&](std::ostream& out) { reports::write_perfetto(outcome.trace, out); });
  }
  const bool stdout_is_taken = json == "-" || trace == "-";
  if (!stdout_is_taken && !args.has("--quiet")) print(reports::summary(outcome.prediction, stdout_style()));
  return outcome.prediction.fits ? kAnswered : kDoesNotFit;
}

}  // namespace

const Command predict{
    .name = "predict",
    .summary = "Predicts the time and memory of one training step, without a GPU.",
    .operands = {job_operand()},
    .options = with_job_flags({{"--json", "FILE", "write the result (docs/output.md); - prints only it"},
                               {"--trace", "FILE", "write the timeline for ui.perfetto.dev; - prints only it"},
                               {"--quiet", "", "no summary: exit code and files only"}}),
    .notes = job_notes() + "\nexit codes: 0 it fits, 1 it does not, 2 the input is wrong\n",
    .examples = {{"forerun predict llama3-70b-64xh100", "a step of Llama 3 70B on 64 H100"},
                 {"forerun predict llama3-70b-64xh100 --set strategy.recompute=full --json -",
                  "the same with full recomputation, for programs"},
                 {"forerun predict --model llama3-8b --node dgx-h100 --sequence 8192 --global-batch 128 --zero 1",
                  "a job of flags alone"},
                 {"forerun predict llama3-8b-32xh200 --quiet --trace step.json", "a timeline for ui.perfetto.dev"}},
    .run = run,
};

}  // namespace cli
