// SPDX-License-Identifier: Apache-2.0
#include "cli/import_kineto.h"
#include "cli/number.h"

#include <fmt/format.h>
#include <limits>

#include <optional>
#include <ostream>

#include "cli/collective_cluster.h"
#include "cli/exit_code.h"
#include "cli/output.h"
#include "cli/terminal.h"
#include "core/base/fault.h"
#include "core/base/text.h"
#include "core/config/kineto.h"
#include "reports/layout.h"
#include "reports/perfetto.h"

namespace cli {
namespace {

const char kStep[] = "--step";

void check_words(const Arguments& args) {
  std::vector<base::Fault> faults;
  const std::size_t traces = args.operands().size() - 1;
  if (traces != 1) {
    faults.push_back({"TRACE",
                      traces == 0 ? "is missing" : "is given " + std::to_string(traces) + " times",
                      "name the trace of one rank; each is a step of its own",
                      {}});
  }
  for (const Option& option : cluster_options()) {
    if (args.has(option.name)) faults.push_back({option.name, "belongs to nccl-tests", "leave it out", {}});
  }
  if (!args.has("--output")) faults.push_back({"-o", "is missing", "name the file to write the step to", {}});
  if (!faults.empty()) throw base::InputError(std::move(faults));
}

std::optional<int> step_of(const Arguments& args) {
  if (!args.has(kStep)) return {};
  const std::string text = args.get(kStep);
  if (const auto step = number_in(text, 0, std::numeric_limits<int>::max())) return step;
  throw base::InputError({{kStep, base::quoted(text) + " is no number of a step", "give the N of ProfilerStep#N", {}}});
}

std::string report(const config::KinetoTrace& trace, const std::string& target) {
  std::string out;
  for (const config::KinetoStep& step : trace.steps) {
    out += fmt::format("{} {:<14}{:>10}{:>10} kernels\n", step.number == trace.step ? '*' : ' ',
                       step.number < 0 ? "all" : "step " + std::to_string(step.number),
                       base::human(base::Seconds(trace::seconds(step.length))),
                       base::with_commas(static_cast<long long>(step.kernels)));
  }
  for (const std::string& note : trace.recorded.notes)
    out += reports::paragraph("note: ", note, stdout_style().columns);
  return out + fmt::format("wrote the one marked * to {}\nforerun explain JOB --against {}\n", target, target);
}

}  // namespace

std::vector<Option> kineto_options() {
  return {{kStep, "N", "kineto: the step ProfilerStep#N; of median length when not given"}};
}

int import_kineto(const Arguments& args) {
  check_words(args);
  const config::KinetoTrace trace = config::read_kineto(args.operands()[1], step_of(args));
  const std::string target = args.get("--output");
  write_to(target, "-o", [&](std::ostream& out) { reports::write_perfetto({{"measured", &trace.recorded}}, out); });
  if (target != "-") print(report(trace, target));
  return kAnswered;
}

}  // namespace cli
