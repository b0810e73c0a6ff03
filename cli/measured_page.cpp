// SPDX-License-Identifier: Apache-2.0
#include "cli/measured_page.h"

#include <ostream>

#include "cli/html.h"
#include "core/plan/build.h"
#include "core/plan/moved_bytes.h"
#include "reports/html/measured_page.h"

namespace cli {

void write_measured_page(const MeasuredStep& step, const Arguments& arguments) {
  if (!arguments.has("--html")) return;
  const Against& against = *step.against;
  reports::MeasuredReport report{
      step.run, &against.difference, {{"predicted", &against.predicted.trace}, {"measured", &against.measured.trace}},
      {},       step.command,        version()};
  if (step.job) {
    for (const plan::Work& work : plan::build(*step.job).works) report.bytes_of_work.push_back(plan::moved_bytes(work));
  }
  write_page(arguments, [&](std::ostream& out) { reports::write_html(report, out); });
}

}  // namespace cli
