// cli/validate.cpp -- forerun validate FILE... [--tier A] [--group-by KEYS] [--json FILE] [--markdown]
// [--fit-interval]; with --collectives the files hold measured collectives instead of steps. SPDX-License-Identifier:
// Apache-2.0
#include <algorithm>
#include <ostream>
#include <sstream>

#include "cli/command.h"
#include "cli/exit_code.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "core/base/fault.h"
#include "core/base/text.h"
#include "core/config/case_reader.h"
#include "core/config/collective_case_reader.h"
#include "reports/collectives.h"
#include "reports/interval_fit.h"
#include "reports/ranking.h"
#include "reports/validation.h"
#include "sim/accuracy.h"
#include "sim/interval_fit.h"
#include "sim/network/collective_accuracy.h"
#include "sim/validate.h"

namespace cli {
namespace {

std::vector<std::string> split(const std::string& text, char at) {
  std::vector<std::string> parts;
  std::istringstream in(text);
  for (std::string part; std::getline(in, part, at);) parts.push_back(part);
  return parts;
}

std::string joined(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& word : words) out += (out.empty() ? "" : ",") + word;
  return out;
}

std::vector<std::string> keys_to_group_by(const Arguments& args, std::vector<base::Fault>& faults) {
  const std::vector<std::string> known = sim::grouping_keys();
  const std::vector<std::string> keys = split(args.get("--group-by"), ',');
  for (const std::string& key : keys) {
    for (const std::string& part : split(key, '+')) {
      if (std::find(known.begin(), known.end(), part) != known.end()) continue;
      const auto near = base::nearest(part, known);
      faults.push_back({"--group-by",
                        "there is no key '" + part + "'",
                        near ? "did you mean " + *near + "?" : "known keys: " + joined(known),
                        {}});
    }
  }
  if (args.has("--group-by") && keys.empty()) {
    faults.push_back({"--group-by", "names no key", "known keys: " + joined(known), {}});
  }
  return keys;
}

std::string tier_of(const Arguments& args, std::vector<base::Fault>& faults) {
  const std::string tier = args.get("--tier");
  if (args.has("--tier") && tier != "A" && tier != "B") {
    faults.push_back({"--tier", "there is no tier '" + tier + "'", "write A (complete cases) or B", {}});
  }
  return tier;
}

/// Every broken file is told, not the first.
std::vector<config::CaseFile> read(const std::vector<std::string>& paths) {
  const auto catalogue = config::Catalogue::find();
  std::vector<config::CaseFile> files;
  std::vector<base::Fault> faults;
  for (const std::string& path : paths) {
    try {
      files.push_back(config::read_cases(path, catalogue));
    } catch (const base::InputError& error) {
      faults.insert(faults.end(), error.faults.begin(), error.faults.end());
    }
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
  if (args.has("--json")) {
    write_to(args.get("--json"), "--json", [&](std::ostream& out) { out << reports::collectives_json(validation); });
  }
  if (args.get("--json") == "-" || args.has("--quiet")) return kAnswered;
  print(args.has("--markdown") ? reports::collectives_markdown(validation) : reports::collectives_text(validation));
  return kAnswered;
}

int run(const Arguments& args) {
  std::vector<base::Fault> faults;
  const std::vector<std::string> keys = keys_to_group_by(args, faults);
  const std::string tier = tier_of(args, faults);
  if (args.operands().empty()) {
    faults.push_back({"FILE", "is missing", "name validation files, such as validation/published/*.yaml", {}});
  }
  for (const char* option : {"--tier", "--group-by"}) {
    if (!args.has("--collectives") || !args.has(option)) continue;
    faults.push_back({option, "is of steps, not of collectives", "leave it out", {}});
  }
  if (!faults.empty()) throw base::InputError(std::move(faults));
  if (args.has("--collectives")) return run_collectives(args);

  result::Validation validation;
  {
    ProgressBar bar("cases");
    validation =
        sim::validate(read(args.operands()), tier, [&](std::size_t done, std::size_t total) { bar.show(done, total); });
  }
  std::vector<result::ValidationGrouping> groupings;
  for (const std::string& key : keys) groupings.push_back(sim::grouped(validation.files, key));

  const std::string json = args.get("--json");
  if (args.has("--json")) {
    write_to(json, "--json", [&](std::ostream& out) { out << reports::validation_json(validation, groupings); });
  }
  if (json == "-" || args.has("--quiet")) return kAnswered;
  if (args.has("--ranking")) {
    print(reports::ranking_markdown(validation));
    return kAnswered;
  }
  if (args.has("--markdown")) {
    print(reports::validation_markdown(validation));
    return kAnswered;
  }
  if (args.has("--fit-interval")) {
    print(reports::interval_fit_text(sim::fit_interval(validation.files)));
    return kAnswered;
  }
  std::string text = reports::validation_text(validation);
  for (const result::ValidationGrouping& grouping : groupings) text += reports::grouping_text(grouping);
  print(text);
  return kAnswered;
}

}  // namespace

const Command validate{
    .name = "validate",
    .summary = "Holds predictions against published measurements.",
    .operands = {{"FILE", "validation files (docs/validation.md), such as validation/published/*.yaml", true}},
    .options = {{"--tier", "A|B", "only cases of this tier: A is complete, B assumes something"},
                {"--group-by", "KEYS", "errors by each key as well: " + joined(sim::grouping_keys())},
                {"--collectives", "", "the files hold collectives, such as validation/collectives/*.yaml"},
                {"--json", "FILE", "write every case and figure (docs/validation.md); - prints only it"},
                {"--markdown", "", "print the table in Markdown instead"},
                {"--ranking", "", "print how well strategies of one model on one cluster are put in order"},
                {"--fit-interval", "", "print the constants of topologies/uncertainty.yaml that these steps tell"},
                {"--quiet", "", "no table: exit code and files only"}},
    .notes =
        "Several keys are separated by commas; tp+pp groups by both at once.\n"
        "exit codes: 0 answered, refused cases included; 2 a file or an option is wrong\n",
    .run = run,
};

}  // namespace cli
