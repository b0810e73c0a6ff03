// cli/validate.cpp -- forerun validate FILE... [--tier A] [--group-by KEYS] [--json FILE] [--markdown]
// [--fit-interval] [--holdout KEY]; with --collectives the files hold measured collectives instead of steps.
// forerun validate [JOB] --measured TRACE: one step that was recorded here.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <filesystem>
#include <optional>
#include <ostream>
#include <sstream>

#include "cli/answers.h"
#include "cli/command.h"
#include "cli/exit_code.h"
#include "cli/html.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/terminal.h"
#include "cli/validate_measured.h"
#include "core/base/fault.h"
#include "core/base/near_names.h"
#include "core/base/repeated.h"
#include "core/base/text.h"
#include "core/config/case_reader.h"
#include "core/config/choices_reader.h"
#include "core/config/collective_case_reader.h"
#include "reports/collectives.h"
#include "reports/holdout.h"
#include "reports/html/validation_page.h"
#include "reports/interval_fit.h"
#include "reports/ranking.h"
#include "reports/validation.h"
#include "sim/network/collective_accuracy.h"
#include "sim/validation/accuracy.h"
#include "sim/validation/cross_validate.h"
#include "sim/validation/interval_fit.h"
#include "sim/validation/validate.h"

namespace cli {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> split(const std::string& text, char at) {
  std::vector<std::string> parts;
  std::istringstream in(text);
  for (std::string part; std::getline(in, part, at);) parts.push_back(part);
  return parts;
}

std::vector<std::string> keys_of(const char* option, const Arguments& args, std::vector<base::Fault>& faults) {
  const std::vector<std::string> known = sim::grouping_keys();
  const std::vector<std::string> keys = split(args.get(option), ',');
  for (const std::string& key : keys) {
    for (const std::string& part : split(key, '+')) {
      if (std::find(known.begin(), known.end(), part) != known.end()) continue;
      faults.push_back({option,
                        "there is no key '" + part + "'",
                        base::nearest_or(part, known, "known keys: " + base::joined(known, ",")),
                        {}});
    }
  }
  if (args.has(option) && keys.empty()) {
    faults.push_back({option, "names no key", "known keys: " + base::joined(known, ","), {}});
  }
  return keys;
}

/// Two tables cannot both be printed.
void check_tables(const Arguments& args, std::vector<base::Fault>& faults) {
  std::string first;
  for (const char* option : {"--holdout", "--fit-interval", "--ranking", "--markdown"}) {
    if (!args.has(option)) continue;
    if (first.empty()) {
      first = option;
    } else {
      faults.push_back({option, "is another table than " + first + "'s", "ask for one of them at a time", {}});
    }
  }
}

void check_files(const Arguments& args, std::vector<base::Fault>& faults) {
  const std::vector<std::string>& files = args.operands();
  if (files.empty()) {
    faults.push_back({"FILE", "is missing", "name validation files, such as validation/published/*.yaml", {}});
  }
  std::vector<fs::path> paths;  // one file may have several
  for (const std::string& file : files) paths.push_back(fs::weakly_canonical(file));
  for (const std::size_t i : base::repeated(paths)) {
    faults.push_back({"FILE", files[i] + " is named twice", "name it once: each of its cases would count twice", {}});
  }
}

std::string holdout_key(const Arguments& args, std::vector<base::Fault>& faults) {
  const std::vector<std::string> keys = keys_of("--holdout", args, faults);
  if (keys.size() > 1) {
    faults.push_back({"--holdout", "names several keys", "write one, or tp+pp for groups by both at once", {}});
  }
  if (args.has("--choices") && !args.has("--holdout")) {
    faults.push_back({"--choices", "is read by --holdout alone", "add --holdout source", {}});
  }
  return keys.empty() ? "" : keys.front();
}

std::string tier_of(const Arguments& args, std::vector<base::Fault>& faults) {
  const std::string tier = args.get("--tier");
  if (args.has("--tier") && tier != "A" && tier != "B") {
    faults.push_back({"--tier", "there is no tier '" + tier + "'", "write A (complete cases) or B", {}});
  }
  return tier;
}

/// Every broken file is told, not the first.
std::vector<config::CaseFile> read(const std::vector<std::string>& paths, const config::Catalogue& catalogue) {
  std::vector<config::CaseFile> files;
  std::vector<base::Fault> faults;
  for (const std::string& path : paths) {
    base::or_faults(faults, [&] {
      files.push_back(config::read_cases(config::path_given(path), catalogue));
      if (files.back().cases.empty()) faults.push_back({"cases", "is empty", "write one at least", {path, 0, 0}});
    });
  }
  if (!faults.empty()) throw base::InputError(std::move(faults));
  return files;
}

int run_collectives(const Arguments& args) {
  const auto catalogue = config::Catalogue::find();
  result::CollectiveValidation validation;
  for (const std::string& path : args.operands()) {
    sim::hold_against(path, config::read_collective_cases(path, catalogue), validation);
  }
  sim::summarise(validation);
  write_if_asked(args, "--json", [&] { return reports::collectives_json(validation); });
  if (args.get("--json") == "-" || args.has("--quiet")) return kAnswered;
  print(args.has("--markdown") ? reports::collectives_markdown(validation)
                               : reports::collectives_text(validation, stdout_style()));
  return kAnswered;
}

std::vector<config::Choice> choices_of(const Arguments& args, const config::Catalogue& catalogue) {
  const std::string usual = catalogue.root() + "/validation/choices.yaml";
  return config::read_choices(args.has("--choices") ? args.get("--choices") : usual, catalogue);
}

/// What the command line asks for.
struct Request {
  std::vector<std::string> keys;  // to group by
  std::string held_out, tier;     // key, empty: nothing is left out
};

Request request_of(const Arguments& args) {
  std::vector<base::Fault> faults;
  Request request{keys_of("--group-by", args, faults), holdout_key(args, faults), tier_of(args, faults)};
  check_tables(args, faults);
  check_files(args, faults);
  if (args.has("--rank")) faults.push_back({"--rank", "is of --measured alone", "add --measured TRACE", {}});
  for (const char* option : {"--tier", "--group-by", "--holdout", "--html", "--ranking", "--fit-interval"}) {
    if (!args.has("--collectives") || !args.has(option)) continue;
    faults.push_back({option, "is of steps, not of collectives", "leave it out", {}});
  }
  if (!faults.empty()) throw base::InputError(std::move(faults));
  return request;
}

struct Answer {
  result::Validation validation;
  std::vector<result::ValidationGrouping> groupings;
  std::optional<result::Holdout> holdout;
};

Answer answer_to(const Request& request, const Arguments& args) {
  const auto catalogue = config::Catalogue::find().remembering();
  std::vector<config::Choice> choices;
  if (!request.held_out.empty()) choices = choices_of(args, catalogue);
  std::vector<config::CaseFile> files = read(args.operands(), catalogue);
  sim::keep_tier(request.tier, files);
  if (std::ranges::all_of(files, [](const config::CaseFile& file) { return file.cases.empty(); })) {
    throw base::InputError({{"--tier", "no case is of tier " + request.tier, "leave it out, or name other files", {}}});
  }
  Answer out;
  {
    ProgressBar bar("cases");
    out.validation = sim::validate(files, "", [&](std::size_t done, std::size_t total) { bar.show(done, total); });
  }
  for (const std::string& key : request.keys) out.groupings.push_back(sim::grouped(out.validation.files, key));
  if (!request.held_out.empty()) {
    ProgressBar bar("cases under other choices");
    out.holdout = sim::cross_validate(files, out.validation, std::move(choices), catalogue, request.held_out,
                                      [&](std::size_t done, std::size_t total) { bar.show(done, total); });
  }
  return out;
}

std::string text_of(const Answer& answer, const Arguments& args) {
  if (args.has("--markdown")) return reports::validation_markdown(answer.validation);
  if (args.has("--ranking")) return reports::ranking_markdown(answer.validation);
  if (args.has("--fit-interval"))
    return reports::interval_fit_text(sim::fit_interval(answer.validation.files), stdout_style());
  if (answer.holdout) return reports::holdout_text(*answer.holdout, stdout_style());
  std::string text = reports::validation_text(answer.validation, stdout_style());
  for (const result::ValidationGrouping& grouping : answer.groupings)
    text += reports::grouping_text(grouping, stdout_style());
  return text;
}

int run_validate(const Arguments& args) {
  if (args.has("--measured")) return validate_measured(args);
  const std::string taken = on_stdout(args, {"--json", "--html"});
  check_html(args);
  const Request request = request_of(args);
  if (args.has("--collectives")) return run_collectives(args);
  const Answer answer = answer_to(request, args);
  if (args.has("--json")) {
    const result::Holdout* holdout = answer.holdout ? &*answer.holdout : nullptr;
    write_to(args.get("--json"), "--json",
             [&](std::ostream& out) { out << reports::validation_json(answer.validation, answer.groupings, holdout); });
  }
  write_page(args,
             [&](std::ostream& out) { reports::write_html(answer.validation, answer.groupings, version(), out); });
  if (taken.empty() && !args.has("--quiet")) print(text_of(answer, args));
  return kAnswered;
}

}  // namespace

result::Validation validated(const Arguments& args) { return answer_to(request_of(args), args).validation; }

Option tier_option() {
  return {"--tier", "A|B", "only cases of this tier: A is complete, B assumes something", false, "A B"};
}

const Command validate{
    .name = "validate",
    .summary = "Holds predictions against published measurements, or against a step measured here.",
    .operands = {{"FILE",
                  "validation files (docs/validation.md), such as validation/published/*.yaml; of --measured a JOB",
                  true, "<files>"}},
    .options =
        {tier_option(),
         {"--group-by", "KEYS", "errors by each key as well: " + base::joined(sim::grouping_keys(), ",")},
         {"--collectives", "", "the files hold collectives, such as validation/collectives/*.yaml"},
         {"--json", "FILE", "write every case and figure (docs/validation.md); - prints only it"},
         html_option(),
         {"--markdown", "", "print the table in Markdown instead"},
         {"--ranking", "", "print how well strategies of one model on one cluster are put in order"},
         {"--fit-interval", "", "print the constants of topologies/uncertainty.yaml that these steps tell"},
         {"--holdout", "KEY",
          "leave out each source (or gpu, framework ...), make the choices between models again "
          "on the others, print the error on it"},
         {"--choices", "FILE", "what --holdout chooses from; default validation/choices.yaml of the catalogue"},
         {"--measured", "TRACE",
          "hold the prediction of one JOB (or that in TRACE) against a recorded step, by family; docs/explain.md"},
         {"--rank", "N", "--measured: this rank of the recorded step; the busiest when not given"},
         {"--quiet", "", "no table: exit code and files only"}},
    .notes =
        "Several keys are separated by commas; tp+pp groups by both at once.\n"
        "exit codes: 0 answered, refused cases included; 2 a file or an option is wrong\n",
    .examples = {{"forerun validate validation/published/megatron-sc21.yaml --group-by pp",
                  "a source's steps, by pipeline stages", "the source tree"},
                 {"forerun validate validation/published/torchtitan.yaml --tier A --json -",
                  "one source's complete cases, for programs", "the source tree"},
                 {"forerun validate --holdout source validation/published/*.yaml",
                  "the same with each source left out of what steps decided", "the source tree and a minute"}},
    .run = run_validate,
};

}  // namespace cli
