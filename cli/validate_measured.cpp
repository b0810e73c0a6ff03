// SPDX-License-Identifier: Apache-2.0
#include "cli/validate_measured.h"

#include "cli/against.h"
#include "cli/exit_code.h"
#include "cli/html.h"
#include "cli/job_flags.h"
#include "cli/measured_page.h"
#include "cli/output.h"
#include "cli/terminal.h"
#include "core/base/fault.h"
#include "core/config/catalogue.h"
#include "reports/difference.h"

namespace cli {
namespace {

const char kMeasured[] = "--measured";

void refuse_beside_measured(const Arguments& args) {
  std::vector<base::Fault> faults;
  for (const char* option : {"--tier", "--group-by", "--collectives", "--markdown", "--ranking", "--fit-interval",
                             "--holdout", "--choices"}) {
    if (args.has(option))
      faults.push_back({option, "is of validation files, not of a recorded step", "leave it out", {}});
  }
  if (args.operands().size() > 1) {
    faults.push_back({"JOB",
                      "is given " + std::to_string(args.operands().size()) + " times",
                      "name the one job that was measured",
                      {}});
  }
  if (!faults.empty()) throw base::InputError(std::move(faults));
}

}  // namespace

int validate_measured(const Arguments& args) {
  refuse_beside_measured(args);
  check_html(args);
  const std::string taken = on_stdout(args, {"--json", "--html"});
  const Against against = args.operands().empty()
                              ? held_against_own(args, kMeasured)
                              : held_against(job_from(args, config::Catalogue::find()), args, kMeasured);
  write_if_asked(args, "--json", [&] { return reports::json(against.difference); });
  write_measured_page({nullptr, nullptr, &against, "validate"}, args);
  if (taken.empty() && !args.has("--quiet")) print(reports::summary(against.difference, stdout_style()));
  return kAnswered;
}

}  // namespace cli
