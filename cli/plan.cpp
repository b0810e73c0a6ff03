// cli/plan.cpp -- forerun plan [PLAN] [NODE:COUNTS]... [flags] [--set PATH=VALUE] [--json FILE] [--csv FILE] [--html
// FILE] SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <atomic>
#include <functional>
#include <map>
#include <ostream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "cli/command.h"
#include "cli/exit_code.h"
#include "cli/html.h"
#include "cli/interruption.h"
#include "cli/launchable.h"
#include "cli/number.h"
#include "cli/open_job.h"
#include "cli/output.h"
#include "cli/path_flags.h"
#include "cli/progress.h"
#include "cli/terminal.h"
#include "core/base/fault.h"
#include "core/base/repeated.h"
#include "core/config/candidate_reader.h"
#include "core/config/catalogue.h"
#include "core/config/purchase_reader.h"
#include "core/config/search_reader.h"
#include "reports/html/purchase_page.h"
#include "reports/purchase.h"
#include "sim/economics/purchase.h"
#include "sim/search/search.h"

namespace cli {
namespace {

constexpr std::array kPlanFlags{
    PathFlag{"--model", "model", "NAME", "a catalogue name, a file, or a Hugging Face config.json"},
    PathFlag{"--tokens", "tokens", "N", "to train on: 15e12, 15T, or chinchilla"},
    PathFlag{"--deadline", "deadline", "TIME", "60d"},
    PathFlag{"--budget", "budget", "MONEY", "5MUSD, or '$5M'"},
    PathFlag{"--outlay", "outlay", "MONEY", "for nodes that are bought, all at once: 5MUSD"},
    PathFlag{"--sequence", "training.sequence", "TOKENS", "length of a sequence"},
    PathFlag{"--global-batch", "training.global_batch", "N", "sequences in a step"},
    PathFlag{"--precision", "training.precision", "DTYPE", "fp32 tf32 fp16 bf16 fp8 mxfp8 nvfp4"},
    PathFlag{"--prices", "prices", "FILE", "your prices, laid over topologies/prices.yaml"},
    PathFlag{"--failures", "failures", "FILE", "your failure rates, laid over topologies/failures.yaml"},
    PathFlag{"--seed", "seed", "N", "of the simulated runs"},
};
const char kCandidates[] = "--candidates";

/// "dgx-h100:32,64": no file of ours has a colon in its name.
bool names_nodes(const std::string& word) { return word.find(':') != word.npos && word.find('/') == word.npos; }

config::Value opened(const Arguments& args) {
  config::Value tree;
  tree.kind = config::Value::Kind::map;
  bool is_open = false;
  for (const std::string& word : args.operands()) {
    if (names_nodes(word)) continue;
    if (is_open) {
      throw base::InputError({{"PLAN", "'" + word + "' is one plan too many", "name one plan file", {}}});
    }
    tree = config::load(config::path_given(word));
    is_open = true;
  }
  return tree;
}

/// Those of flags and operands take the place of the file's.
void lay_candidates_over(config::Value& tree, const Arguments& args) {
  config::Value list;
  list.kind = config::Value::Kind::list;
  list.where = list.key_where = {kCandidates, 0, 0};
  const auto add = [&](const std::string& word) {
    list.items.push_back(config::candidate_tree(word, std::string(kCandidates) + ' ' + word));
  };
  for (const std::string& words : args.all(kCandidates)) {
    std::istringstream text(words);
    for (std::string word; text >> word;) add(word);
  }
  for (const std::string& word : args.operands()) {
    if (names_nodes(word)) add(word);
  }
  if (!list.items.empty()) tree.set("candidates", std::move(list));
}

config::Value plan_tree(const Arguments& args, const config::Catalogue& catalogue) {
  config::Value tree = opened(args);
  lay_candidates_over(tree, args);
  lay_over(tree, args, kPlanFlags);
  check_overridden(tree, args, kPlanFlags, [&](const config::Value& its) { config::read_purchase(its, catalogue); });
  return tree;
}

/// Without a file the flag mends what is missing, not the file's key.
base::InputError told_as_flags(const base::InputError& error) {
  const std::string otherwise = ", or name a PLAN file";
  std::vector<base::Fault> faults = told_as_flags(error, kPlanFlags, otherwise).faults;
  for (base::Fault& fault : faults) {
    if (fault.what == "is missing" && fault.field == "candidates") {
      fault.mend = "add --candidates dgx-h100:32,64" + otherwise;
    }
  }
  return base::InputError(std::move(faults));
}

/// Of words, which all have the same terms; entries of a file may differ in theirs.
void refuse_repeated(const std::vector<spec::Candidate>& candidates) {
  std::vector<base::Fault> faults;
  std::vector<std::pair<int, bool>> named;
  for (const spec::Candidate& one : candidates) named.emplace_back(one.cluster, one.bought);
  for (const std::size_t i : base::repeated(named)) {
    faults.push_back({kCandidates, candidates[i].name + " is named twice", "name it once", {}});
  }
  if (!faults.empty()) throw base::InputError(std::move(faults));
}

/// The plan, and the tree of each cluster's Job.
struct Question {
  spec::Purchase purchase;
  std::map<int, config::Value> jobs;
};

Question question_of(const Arguments& args, const config::Catalogue& catalogue) {
  const config::Value tree = plan_tree(args, catalogue);
  const bool has_file = std::any_of(args.operands().begin(), args.operands().end(),
                                    [](const std::string& word) { return !names_nodes(word); });
  Question out;
  try {
    out.purchase = config::read_purchase(tree, catalogue, &out.jobs);
  } catch (const base::InputError& error) {
    if (has_file) throw;
    throw told_as_flags(error);
  }
  std::vector<spec::Candidate>& candidates = out.purchase.candidates;
  if (args.has(kCandidates) || std::ranges::any_of(args.operands(), names_nodes)) refuse_repeated(candidates);
  for (spec::Candidate& one : candidates) read_chosen_values(args, out.jobs.at(one.cluster), one.space);
  return out;
}

/// Searches one cluster after the other, tells how far it is with all, and judges what it finds.
class Searcher {
 public:
  Searcher(const Question& question, const Arguments& args, const config::Catalogue& catalogue, unsigned threads,
           ProgressBar& bar, const std::atomic<bool>* stop, UnlaunchableBest& unlaunchable)
      : question_(question), args_(args), catalogue_(catalogue), bar_(bar), unlaunchable_(unlaunchable) {
    options_.top = 5;
    options_.threads = threads;
    options_.stop = stop;
    options_.progress = [this](std::size_t done, std::size_t all) {
      bar_.show(100 * (searched_ * all + done) / (all * question_.jobs.size()), 100);
    };
  }

  result::Search operator()(const spec::Candidate& one) {
    const config::Value& tree = question_.jobs.at(one.cluster);
    options_.wanted = launchable_alone(args_, tree, catalogue_, one.job.framework);
    result::Search found = search(one, tree);
    ++searched_;
    refuse_if_none_is_launchable(found, one.job.framework.launcher);
    unlaunchable_.judge(one.name, tree, one.job.framework.launcher, found);
    return found;
  }

 private:
  result::Search search(const spec::Candidate& one, const config::Value& tree) const {
    try {
      return sim::search(one.job, one.space, options_);
    } catch (const base::InputError& error) {
      throw placed(error, tree, args_);
    }
  }

  const Question& question_;
  const Arguments& args_;
  const config::Catalogue& catalogue_;
  ProgressBar& bar_;
  UnlaunchableBest& unlaunchable_;
  sim::SearchOptions options_;
  std::size_t searched_ = 0;
};

int run_plan(const Arguments& args) {
  const std::string taken = on_stdout(args, {"--json", "--csv", "--html"});
  check_html(args);
  sim::PurchaseOptions options;
  options.threads = number_of(args, "--threads", 0u, 0u, kMostThreads);
  const config::Catalogue catalogue = config::Catalogue::find().remembering();
  const Question question = question_of(args, catalogue);
  ProgressBar bar("percent of the searches");
  const Interruption interruption;
  options.stop = interruption.asked();
  UnlaunchableBest unlaunchable(catalogue);
  Searcher searcher(question, args, catalogue, options.threads, bar, options.stop, unlaunchable);
  options.search = std::ref(searcher);
  result::Purchase answer = sim::plan_purchase(question.purchase, options);
  for (std::string note : unlaunchable.notes()) answer.notes.push_back(std::move(note));
  write_if_asked(args, "--json", [&] { return reports::json(answer); });
  write_if_asked(args, "--csv", [&] { return reports::csv(answer); });
  write_page(args, [&](std::ostream& out) { reports::write_html(answer, version(), out); });
  if (taken.empty()) print(reports::text(answer, stdout_style()));
  if (!answer.complete) return kInterrupted;
  return answer.recommended ? kAnswered : kDoesNotFit;
}

std::vector<Option> plan_options() {
  std::vector<Option> out{{kCandidates, "NODE:COUNTS",
                           "clusters, in place of the file's, by nodes: dgx-h100:32,64, or dgx-h100:64@rail-400g-2to1; "
                           "a gb200-nvl72 is one of "
                           "a rack's 18 trays of 4 GPUs",
                           true}};
  for (const PathFlag& flag : kPlanFlags) out.push_back({flag.name, flag.value, flag.help});
  out.insert(out.end(), {{kSet, "PATH=VALUE", "any field of the plan: failures.repair=4h", true},
                         {"--fix", "KEY=VALUE", "a key of the strategy that is not searched: tp=8", true},
                         {"--allow", "KEY=V1,V2", "the values that are searched: zero=1,3", true},
                         launchable_option(),
                         {"--threads", "N", "0, the default: one for each core"},
                         {"--json", "FILE", "write the result (docs/plan.md); - prints only it"},
                         {"--csv", "FILE", "write a table for spreadsheets; - prints only it"},
                         html_option()});
  return out;
}

}  // namespace

const Command purchase{
    .name = "plan",
    .summary = "Which cluster to rent or buy for a training run: days, cost, risk, and what would change it.",
    .operands = {{"PLAN",
                  "a plan file (docs/plan.md); or NODE:COUNTS of candidates, which take the place of the file's", true,
                  "<files>"}},
    .options = plan_options(),
    .notes =
        "Flags override the file, and --set overrides both. Without PLAN the flags alone make it.\n"
        "Ctrl-C ends the searches; the answer is then of what was looked at.\n"
        "\nexit codes: 0 a candidate is recommended, 1 none will do, 2 the input is wrong, 130 interrupted\n",
    .examples =
        {{"forerun plan --model llama3-8b --tokens 100B --deadline 30d --candidates dgx-h100:4,8 --fix pp=1 --fix "
          "cp=1 --fix zero=1",
          "days, cost and risk of two clusters"},
         {"forerun plan --model llama3-70b --tokens 1T --deadline 60d --candidates dgx-h100:32,64 dgx-b200:16,32",
          "which of four clusters, and what would change that", "some minutes"}},
    .run = run_plan,
};

}  // namespace cli
