// cli/compare.cpp -- forerun compare [JOB]... [flags] [--vary PATH=V1,V2]... [--json FILE] [--csv FILE] [--html FILE]
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <cstddef>
#include <limits>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "cli/answers.h"
#include "cli/command.h"
#include "cli/exit_code.h"
#include "cli/html.h"
#include "cli/job_flags.h"
#include "cli/output.h"
#include "cli/stated_dp.h"
#include "cli/terminal.h"
#include "cli/vary.h"
#include "core/base/fault.h"
#include "core/base/repeated.h"
#include "core/config/catalogue.h"
#include "reports/comparison.h"
#include "reports/html/comparison_page.h"
#include "sim/compare.h"

namespace cli {
namespace {

const char kDp[] = "strategy.dp";

/// A key that no Job has is a slip of the pen, not a combination to be told as refused.
void throw_unless_known(const base::InputError& error) {
  std::vector<base::Fault> slips;
  for (const base::Fault& fault : error.faults) {
    if (fault.what == "unknown key" && fault.where.file.starts_with("--vary")) slips.push_back(fault);
  }
  if (!slips.empty()) throw base::InputError(std::move(slips));
}

std::string in_short(const base::Fault& fault) { return (fault.field.empty() ? "" : fault.field + ": ") + fault.what; }

void read(sim::Candidate& candidate, const config::Value& tree, const Arguments& args,
          const config::Catalogue& catalogue) {
  try {
    candidate.sound = job_of(tree, args, catalogue);
  } catch (const base::InputError& error) {
    throw_unless_known(error);
    candidate.refusal = in_short(error.faults.front());
  }
}

/// Shows dp in all rows where it is not the same in all.
void tell_dp(std::vector<sim::Candidate>& rows) {
  int least = std::numeric_limits<int>::max(), most = 0;
  for (const sim::Candidate& row : rows) {
    if (!row.sound) continue;
    least = std::min(least, row.sound->strategy.data());
    most = std::max(most, row.sound->strategy.data());
  }
  if (least >= most) return;
  for (sim::Candidate& row : rows) {
    const bool told = std::any_of(row.varied.begin(), row.varied.end(), [](const auto& v) { return v.first == kDp; });
    if (row.sound && !told) row.varied.emplace_back(kDp, std::to_string(row.sound->strategy.data()));
  }
}

/// The job of one operand in all its variations. A job that is wrong as it stands, and that no variation mends, is bad
/// input.
std::vector<sim::Candidate> candidates(const Arguments& args, const config::Catalogue& catalogue, std::size_t operand,
                                       const std::vector<Combination>& variations) {
  const config::Value base = job_tree(args, catalogue, operand);
  std::vector<sim::Candidate> out;
  for (const Combination& combination : variations) {
    sim::Candidate& candidate = out.emplace_back();
    if (operand < args.operands().size()) candidate.job = args.operands()[operand];
    candidate.varied = combination;
    config::Value tree = base;
    lay_over(tree, combination);
    let_dp_follow(tree, catalogue);
    read(candidate, tree, args, catalogue);
  }
  tell_dp(out);
  if (std::none_of(out.begin(), out.end(), [](const auto& c) { return c.sound.has_value(); })) {
    job_of(base, args, catalogue);  // throws what is wrong with it
  }
  return out;
}

int run_compare(const Arguments& args) {
  // Several outputs may be asked for at once, and one of them may have stdout.
  const struct {
    const char* flag;
    std::string (*write)(const result::Comparison&);
  } outputs[] = {{"--json", reports::json}, {"--csv", reports::csv}, {"--markdown", reports::markdown}};
  const std::string taken = on_stdout(args, {"--json", "--csv", "--markdown", "--html"});
  check_html(args);
  const result::Comparison answer = compared(args);
  for (const auto& output : outputs) {
    write_if_asked(args, output.flag, [&] { return output.write(answer); });
  }
  write_page(args, [&](std::ostream& out) { reports::write_html(answer, version(), out); });
  if (taken.empty() && !args.has("--quiet")) print(reports::text(answer, stdout_style()));
  const bool any_fits = std::any_of(answer.rows.begin(), answer.rows.end(), [](const result::ComparisonRow& row) {
    return row.status == result::ComparisonRow::Status::fits;
  });
  return any_fits ? kAnswered : kDoesNotFit;
}

void check_operands(const Arguments& args) {
  const std::vector<std::string>& jobs = args.operands();
  const std::vector<std::size_t> again = base::repeated(jobs);
  if (!again.empty()) throw base::InputError({{"JOB", jobs[again.front()] + " is named twice", "name it once", {}}});
}

Operand job_operands() {
  Operand jobs = job_operand();
  jobs.repeatable = true;
  return jobs;
}

}  // namespace

result::Comparison compared(const Arguments& args) {
  const config::Catalogue catalogue = config::Catalogue::find().remembering();
  const std::vector<Combination> variations = combinations(cli::variations(args));
  check_operands(args);
  std::vector<sim::Candidate> all;
  for (std::size_t i = 0; i < std::max<std::size_t>(1, args.operands().size()); ++i) {
    for (sim::Candidate& one : candidates(args, catalogue, i, variations)) all.push_back(std::move(one));
  }
  result::Comparison out = sim::compare(std::move(all));
  for (result::ComparisonRow& row : out.rows) {
    std::vector<std::string> varied;
    for (const auto& [path, value] : row.varied) varied.push_back(path);
    row.prediction.mends = behind(args, std::move(row.prediction.mends), varied);
  }
  return out;
}

const Command compare{
    .name = "compare",
    .summary = "Predicts several jobs, or one in several variations, and puts them in order.",
    .operands = {job_operands()},
    .options = with_job_flags({vary_option(),
                               {"--json", "FILE", "write the result (docs/compare.md); - prints only it"},
                               {"--csv", "FILE", "write a table for spreadsheets; - prints only it"},
                               {"--markdown", "FILE", "write a table for documents; - prints only it"},
                               html_option(),
                               {"--quiet", "", "no table: exit code and files only"}}),
    .notes = job_notes() +
             "Several JOBs are compared with one another, each with the same flags laid over it.\n"
             "\nexit codes: 0 at least one fits, 1 none does, 2 the input is wrong\n",
    .examples = {{"forerun compare llama3-70b-64xh100 --vary strategy.tp=2,4,8 --vary strategy.pp=1,2,4",
                  "all nine combinations, the best first, then those that do not fit or are refused"},
                 {"forerun compare llama3-8b-32xh200 llama3-70b-64xh100 --csv -", "two jobs, as a table"}},
    .run = run_compare,
};

}  // namespace cli
