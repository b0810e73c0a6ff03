// cli/explain.cpp -- forerun explain [JOB] [flags] [--json FILE]
// SPDX-License-Identifier: Apache-2.0
#include <ostream>

#include "cli/command.h"
#include "cli/exit_code.h"
#include "cli/job_flags.h"
#include "cli/output.h"
#include "core/config/catalogue.h"
#include "reports/explanation.h"
#include "sim/explain.h"

namespace cli {
namespace {

int run(const Arguments& args) {
  const result::Explanation answer = sim::explain(job_from(args, config::Catalogue::find()));
  if (args.has("--json")) {
    write_to(args.get("--json"), "--json", [&](std::ostream& out) { out << reports::json(answer); });
  }
  if (args.get("--json") != "-") print(reports::text(answer));
  return answer.fits ? kAnswered : kDoesNotFit;
}

}  // namespace

const Command explain{
    .name = "explain",
    .summary = "Tells what a step's time is made of along its critical path, and what would shorten it.",
    .operands = {job_operand()},
    .options = with_job_flags({{"--json", "FILE", "write the result (docs/explain.md); - prints only it"}}),
    .notes = job_notes() + "\nexit codes: 0 answered, 1 the step does not fit into memory, 2 the input is wrong\n",
    .run = run,
};

}  // namespace cli
