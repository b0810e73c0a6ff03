// cli/explain.cpp -- forerun explain [JOB] [flags] [--sensitivity | --what-if CHANGES | --against TRACE [--rank N]]
// [--json FILE] [--csv FILE] [--html FILE] [--trace FILE]
// SPDX-License-Identifier: Apache-2.0
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "cli/against.h"
#include "cli/command.h"
#include "cli/exit_code.h"
#include "cli/html.h"
#include "cli/job_flags.h"
#include "cli/measure_job.h"
#include "cli/measured_page.h"
#include "cli/output.h"
#include "cli/terminal.h"
#include "core/base/fault.h"
#include "core/base/text.h"
#include "core/config/catalogue.h"
#include "core/config/change_reader.h"
#include "reports/alternatives.h"
#include "reports/difference.h"
#include "reports/explanation.h"
#include "reports/sensitivity.h"
#include "sim/alternatives.h"
#include "sim/explain.h"
#include "sim/sensitivity.h"

namespace cli {
namespace {

const char kWhatIf[] = "--what-if", kAgainst[] = "--against";
constexpr std::initializer_list<const char*> kFiles{"--json", "--csv", "--html", "--trace"};

void refuse_what_excludes(const Arguments& args) {
  std::vector<base::Fault> faults;
  std::string asked;
  for (const char* question : {"--sensitivity", kWhatIf, kAgainst}) {
    if (!args.has(question)) continue;
    if (!asked.empty()) {
      faults.push_back({question, "stands beside " + asked, "ask one of the two at a time", {}});
    }
    asked = question;
  }
  if (args.has("--csv") && !args.has("--sensitivity") && !args.has(kAgainst)) {
    faults.push_back({"--csv", "is of --sensitivity and --against alone", "add one of them, or write --json FILE", {}});
  }
  for (const char* option : {"--rank", "--html", "--trace"}) {
    if (!args.has(option) || args.has(kAgainst)) continue;
    faults.push_back({option, "is of --against alone", "add --against TRACE", {}});
  }
  if (!faults.empty()) throw base::InputError(std::move(faults));
}

/// The answer in the forms that were asked for: JSON, or else text.
template <class Answer>
void tell(const Answer& answer, const Arguments& args) {
  write_if_asked(args, "--json", [&] { return reports::json(answer); });
  if (on_stdout(args, kFiles).empty()) print(reports::text(answer, stdout_style()));
}

template <class Answer>
void tell_table(const Answer& answer, const Arguments& args) {
  if (!args.has("--csv")) return;
  write_to(args.get("--csv"), "--csv", [&](std::ostream& out) { out << reports::csv(answer); });
}

int run_sensitivity(const spec::Job& job, const Arguments& args) {
  const result::Sensitivity answer = sim::sensitivity(job);
  tell_table(answer, args);
  tell(answer, args);
  return answer.fits ? kAnswered : kDoesNotFit;
}

/// What was measured has fitted.
int run_against(const spec::Job& job, const Arguments& args) {
  const Against against = held_against(job, args, kAgainst);
  tell_table(against.difference, args);
  write_measured_page({nullptr, nullptr, &against, "explain"}, args);
  write_timeline(against, args);
  tell(against.difference, args);
  return kAnswered;
}

/// Those that can be are answered before those that cannot are told.
int run_what_if(const spec::Job& job, const Arguments& args) {
  const std::string asked = base::joined(args.all(kWhatIf), ",");
  const result::Alternatives answer = sim::alternatives(job, config::read_changes(asked, job, kWhatIf));
  if (!answer.after.empty()) tell(answer, args);
  std::vector<base::Fault> faults;
  for (const result::RefusedChange& one : answer.refused) {
    faults.push_back({kWhatIf + (one.change.empty() ? "" : ' ' + one.change), one.refusal, one.mend, {}});
  }
  if (!faults.empty()) throw base::InputError(std::move(faults));
  return answer.after.back().prediction.fits ? kAnswered : kDoesNotFit;
}

int run_explain(const Arguments& args) {
  refuse_what_excludes(args);
  on_stdout(args, kFiles);
  check_html(args);
  const spec::Job job = job_from(args, config::Catalogue::find());
  if (args.has("--sensitivity")) return run_sensitivity(job, args);
  if (args.has(kWhatIf)) return run_what_if(job, args);
  if (args.has(kAgainst)) return run_against(job, args);
  const result::Explanation answer = sim::explain(job);
  tell(answer, args);
  return answer.fits ? kAnswered : kDoesNotFit;
}

}  // namespace

const Command explain{
    .name = "explain",
    .summary = "Tells what a step's time is made of along its critical path, and what would shorten it.",
    .operands = {job_operand()},
    .options = with_job_flags(
        {{"--sensitivity", "", "how the step time follows from every figure of hardware, calibration and framework"},
         {kWhatIf, "CHANGES",
          "the step with other figures: nic=2x,hbm=+30%,gpu.peak=1.2PFLOP/s; names: hbm gpu.peak gpu.memory power "
          "nvlink "
          "nic pcie host nvme oversubscription launch, and every input of --sensitivity",
          true},
         {kAgainst, "TRACE",
          "where the step differs from a recorded one: of measure --trace, forerun-worker run --trace or PyTorch's "
          "profiler"},
         {"--rank", "N", "--against: this rank of the recorded step; the busiest when not given"},
         {"--json", "FILE", "write the result (docs/explain.md); - prints only it"},
         {"--csv", "FILE", "write the inputs of --sensitivity, or the operators of --against; - prints only it"},
         {"--html", "FILE", "--against: write a page with charts that opens offline (docs/html.md); - prints only it"},
         {"--trace", "FILE",
          "--against: write prediction and record as one timeline for ui.perfetto.dev; - prints only it"}}),
    .notes = job_notes() +
             "\nexit codes: 0 answered, 1 the step does not fit into memory (not of --against: the "
             "step was run), 2 the input is wrong (of several changes behind --what-if, any; the others are "
             "answered)\n",
    .examples = {{"forerun explain llama3-70b-64xh100", "the critical path"},
                 {"forerun explain llama3-8b-32xh200 --sensitivity --csv inputs.csv",
                  "what 10 % more of each input buys"},
                 {"forerun explain llama3-70b-64xh100 --what-if nic=2x,hbm=+30%,gpu.memory=141GB",
                  "the step with other figures"},
                 {"forerun explain llama3-70b-64xh100 --what-if gpu.peak=1.2PFLOP/s",
                  "peaks of all dtypes, in proportion"},
                 {"forerun explain job.yaml --against t.json",
                  "a step of `forerun measure job.yaml --trace t.json`, operator by operator", "a recorded step"}},
    .run = run_explain,
};

}  // namespace cli
