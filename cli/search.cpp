// cli/search.cpp -- forerun search [JOB] [flags] [--fix KEY=VALUE] [--allow KEY=V1,V2] [--by OBJECTIVE] [--json FILE]
// SPDX-License-Identifier: Apache-2.0
#include "sim/search/search.h"

#include <algorithm>
#include <array>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "cli/answers.h"
#include "cli/command.h"
#include "cli/exit_code.h"
#include "cli/html.h"
#include "cli/interruption.h"
#include "cli/job_flags.h"
#include "cli/launchable.h"
#include "cli/number.h"
#include "cli/open_job.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/search_together.h"
#include "cli/terminal.h"
#include "core/base/fault.h"
#include "core/base/money.h"
#include "core/base/near_names.h"
#include "core/base/text.h"
#include "core/config/catalogue.h"
#include "core/spec/search_space.h"
#include "reports/html/search_page.h"
#include "reports/search.h"

namespace cli {
namespace {

constexpr int kMostResults = 1000;
constexpr std::array<std::string_view, 5> kObjectives{"step_time", "cost", "memory", "energy", "tokens_per_dollar"};

sim::Objective objective_of(const Arguments& args) {
  if (!args.has("--by")) return sim::Objective::step_time;
  const std::string name = args.get("--by");
  const auto at = std::find(kObjectives.begin(), kObjectives.end(), name);
  if (at != kObjectives.end()) return static_cast<sim::Objective>(at - kObjectives.begin());
  throw base::InputError({{"--by",
                           "there is no objective '" + name + "'",
                           base::nearest_or(name, {kObjectives.begin(), kObjectives.end()},
                                            "choose step_time, cost, memory, energy or tokens_per_dollar"),
                           {}}});
}

int run_search(const Arguments& args) {
  const std::string taken = on_stdout(args, {"--json", "--csv", "--html"});
  check_html(args);
  std::optional<result::Search> found = searched(args);
  if (!found) return kAnswered;  // by another process
  const result::Search& answer = *found;
  write_if_asked(args, "--json", [&] { return reports::json(answer); });
  write_if_asked(args, "--csv", [&] { return reports::csv(answer); });
  write_page(args, [&](std::ostream& out) { reports::write_html(answer, version(), out); });
  if (taken.empty()) print(reports::text(answer, stdout_style()));
  if (!answer.complete) return kInterrupted;
  return answer.results.empty() ? kDoesNotFit : kAnswered;
}

std::vector<Option> with_output_flags(std::vector<Option> own) {
  own.push_back({"--json", "FILE", "write the result (docs/output.md); - prints only it"});
  own.push_back({"--csv", "FILE", "write a table for spreadsheets; - prints only it"});
  own.push_back(html_option());
  return own;
}

/// Dollars: "2.5" as well as "$2.5/h".
std::optional<double> price_of_gpu_hour(const Arguments& args) {
  constexpr double kMost = 1e6;
  if (!args.has("--price")) return {};
  const std::string text = args.get("--price");
  if (const std::optional<double> bare = number_in(text, 0.0, kMost)) return bare;
  const base::Parsed<base::TimePrice> price = base::parse_time_price(text);
  const double dollars = price.value ? price.value->per_si() * base::kHour : -1;
  if (dollars >= 0 && dollars <= kMost) return dollars;
  throw base::InputError({{"--price",
                           base::quoted(text) + " is no price of a GPU for an hour from $0 to $1,000,000",
                           "write --price 2.5 or --price '$2.5/h'",
                           {}}});
}

}  // namespace

std::optional<result::Search> searched(const Arguments& args) {
  sim::SearchOptions options;
  options.by = objective_of(args);
  options.top = number_of(args, "--top", options.top, 1, kMostResults);
  options.more_nodes = true;
  options.threads = number_of(args, "--threads", 0u, 0u, kMostThreads);
  options.gpu_hour = price_of_gpu_hour(args);
  if ((options.by == sim::Objective::cost || options.by == sim::Objective::tokens_per_dollar) && !options.gpu_hour) {
    throw base::InputError({{"--price",
                             "is missing, and nothing else says what a GPU costs",
                             "add --price 2.5, for an hour of one GPU",
                             {}}});
  }
  const config::Catalogue catalogue = config::Catalogue::find().remembering();
  const config::Value tree = job_tree(args, catalogue, 0);
  const config::OpenJob open = open_job(tree, args, catalogue);
  ProgressBar bar("steps of the search");
  options.progress = [&](std::size_t done, std::size_t all) { bar.show(done, all); };
  const Interruption interruption;
  options.stop = interruption.asked();
  options.wanted = launchable_alone(args, tree, catalogue, open.job.framework);
  std::optional<result::Search> found;
  try {
    found = search_together(open, options);
  } catch (const base::InputError& error) {
    throw placed(error, tree, args);
  }
  if (!found) return found;
  refuse_if_none_is_launchable(*found, open.job.framework.launcher);
  found->by = kObjectives[static_cast<std::size_t>(options.by)];
  if (!open.job.training.serves()) tell_unlaunchable(tree, catalogue, open.job.framework.launcher, *found);
  return found;
}

std::vector<Option> search_options() {
  return with_search_flags(
      {{"--by", "OBJECTIVE", "step_time cost memory energy tokens_per_dollar", false,
        "step_time cost memory energy tokens_per_dollar"},
       {"--price", "PRICE", "of one GPU for an hour, 2.5 or $2.5/h, for cost and tokens_per_dollar"},
       {"--top", "N", "how many strategies are shown; 10 by default"},
       {"--threads", "N", "0, the default: one for each core"}});
}

const Command search{
    .name = "search",
    .summary = "Finds the best strategy for a model on a cluster.",
    .operands = {job_operand()},
    .options = with_job_flags(with_output_flags(search_options())),
    .notes =
        job_notes() + "Searched: " + base::joined({spec::kSearchKeyNames.begin(), spec::kSearchKeyNames.end()}, " ") +
        " (some of their values on request alone, as the answer says). Those that the file or a flag gives are fixed. "
        "All other keys (cuda_graphs, compile, fused_kernels, fsdp, moe_dispatcher ...) stay as the Job says or at "
        "their defaults.\n"
        "Started by mpirun, srun or torchrun (mpirun -n 64 forerun search job.yaml) the processes share the work, and "
        "the first tells the answer.\n"
        "Ctrl-C ends the search with the best strategies so far; a second one ends it at once.\n"
        "\nexit codes: 0 the best strategy fits, 1 none does, 2 the input is wrong, 130 interrupted\n",
    .examples = {{"forerun search --model llama3-8b --node dgx-h100 --sequence 8192 --global-batch 128 --fix pp=1 "
                  "--fix cp=1",
                  "the best strategies without a pipeline and context parallelism"},
                 {"forerun search llama3-70b-64xh100 --free recompute,micro_batch --allow zero=1,3 --top 3",
                  "three keys of a file are set free, one of them within limits"}},
    .run = run_search,
};

}  // namespace cli
