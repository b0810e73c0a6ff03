// cli/show.cpp -- forerun show: an entry of the catalogue (cli/show_entry.cpp), a collective (cli/show_collective.cpp)
// or a schedule (cli/show_schedule.cpp). SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "cli/command.h"
#include "cli/show_collective.h"
#include "cli/show_entry.h"
#include "cli/show_schedule.h"
#include "core/base/fault.h"

namespace cli {
namespace {

/// What `show` does beside entries: its first operand, and the options that it takes besides --json.
struct Form {
  std::string name;
  std::vector<Option> options;
  int (*run)(const Arguments&);
};

std::vector<Form> forms() {
  return {{"collective", collective_options(), show_collective}, {"schedule", schedule_options(), show_schedule}};
}

bool takes(const Form& form, const std::string& option) {
  return std::any_of(form.options.begin(), form.options.end(), [&](const Option& o) { return o.name == option; });
}

/// `form`: nullptr for an entry, which takes none of their options.
void refuse_options_of_others(const Arguments& args, const Form* form) {
  std::vector<base::Fault> faults;
  std::set<std::string> told;
  for (const Form& other : forms()) {
    for (const Option& option : other.options) {
      if (!args.has(option.name) || (form && takes(*form, option.name)) || !told.insert(option.name).second) continue;
      faults.push_back({option.name, "belongs to `forerun show " + other.name + "`", "leave it out", {}});
    }
  }
  if (!faults.empty()) throw base::InputError(std::move(faults));
}

/// Each option once, with the forms that take it.
std::vector<Option> show_options() {
  std::vector<Option> all{{"--json", "FILE", "write what is shown as JSON; - prints only it"}};
  for (const Form& form : forms()) {
    for (Option option : form.options) {
      const auto same = std::find_if(all.begin(), all.end(), [&](const Option& o) { return o.name == option.name; });
      option.help = form.name + ": " + option.help;
      if (same == all.end()) {
        all.push_back(std::move(option));
      } else {
        same->help.insert(same->help.find(':'), ", " + form.name);
      }
    }
  }
  return all;
}

int run_show(const Arguments& args) {
  if (args.operands().empty()) {
    throw base::InputError({{"NAME", "is missing", "name what to show; `forerun list` shows all names", {}}});
  }
  for (const Form& form : forms()) {
    if (args.operands().front() != form.name) continue;
    refuse_options_of_others(args, &form);
    return form.run(args);
  }
  refuse_options_of_others(args, nullptr);
  return show_entry(args);
}

}  // namespace

const Command show{
    .name = "show",
    .summary =
        "Shows one entry of the catalogue, or a file: bases filled in, derived values, sources. A Job is shown as it "
        "stands.",
    .operands =
        {{"NAME",
          "a name (dgx-h100), a kind and a name (gpus/h100-sxm), or a path (a Hugging Face config.json too); or "
          "`collective` and all_reduce, all_gather, reduce_scatter, all_to_all, broadcast or send; or `schedule` and a "
          "JOB",
          true, "collective schedule <models> <nodes> <gpus> <fabrics> <frameworks> <jobs> <calibrations> <files>"}},
    .options = show_options(),
    .notes = "",
    .examples = {{"forerun show llama3-70b", "a model's values, and its parameters by part"},
                 {"forerun show dgx-h100 --json -", "a node with its GPU's values, for programs"},
                 {"forerun show collective all_reduce --node dgx-h100 --nodes 4",
                  "time and bus bandwidth by size, with the algorithm and the source of the figures"},
                 {"forerun show schedule llama3-70b-64xh100 --to 2s", "the first two seconds of the pipeline's step"}},
    .run = run_show,
};

}  // namespace cli
