// SPDX-License-Identifier: Apache-2.0
#include "cli/show_schedule.h"

#include <string>

#include "cli/exit_code.h"
#include "cli/job_flags.h"
#include "cli/output.h"
#include "cli/terminal.h"
#include "core/base/fault.h"
#include "core/base/text.h"
#include "core/config/catalogue.h"
#include "reports/schedule.h"
#include "sim/schedule.h"

namespace cli {
namespace {

const char kFrom[] = "--from", kTo[] = "--to", kMemory[] = "--memory";

double instant(const Arguments& args, const char* option, double otherwise, std::vector<base::Fault>& faults) {
  if (!args.has(option)) return otherwise;
  const auto parsed = base::parse_seconds(args.get(option));
  if (parsed.value) return parsed.value->si();
  faults.push_back({option, parsed.problem, parsed.mend, {}});
  return otherwise;
}

reports::Window window_from(const Arguments& args, double step_time_s) {
  std::vector<base::Fault> faults;
  const reports::Window out{instant(args, kFrom, 0, faults), instant(args, kTo, step_time_s, faults)};
  if (faults.empty() && !(0 <= out.from_s && out.from_s < out.to_s && out.to_s <= step_time_s)) {
    faults.push_back({args.has(kTo) ? kTo : kFrom,
                      "from " + base::human(base::Seconds(out.from_s)) + " to " + base::human(base::Seconds(out.to_s)) +
                          " is no part of the step",
                      "it lasts " + base::human(base::Seconds(step_time_s)) + "; write --from below --to within it",
                      {}});
  }
  if (!faults.empty()) throw base::InputError(std::move(faults));
  return out;
}

}  // namespace

std::vector<Option> schedule_options() {
  return with_job_flags({{kFrom, "TIME", "draw the step from there: 200ms"},
                         {kTo, "TIME", "and up to there"},
                         {kMemory, "", "what each stage has allocated, below its passes"}});
}

int show_schedule(const Arguments& args) {
  if (args.operands().size() > 2) {
    throw base::InputError({{"JOB", "'" + args.operands()[2] + "' is one operand too many", "name one job", {}}});
  }
  const result::Schedule schedule =
      sim::schedule_of(job_from(args.behind_first_operand(), config::Catalogue::find()), args.has(kMemory));
  const reports::Window window = window_from(args, schedule.step_time_s);
  write_if_asked(args, "--json", [&] { return reports::json(schedule); });
  if (args.get("--json") != "-") print(reports::text(schedule, stdout_style(), window));
  return kAnswered;
}

}  // namespace cli
