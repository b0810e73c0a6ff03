// cli/import_job.cpp -- forerun import megatron|torchtitan|deepspeed|accelerate-fsdp|maxtext|huggingface FILE [flags]
// [-o FILE]. SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <filesystem>
#include <iostream>
#include <map>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "cli/exit_code.h"
#include "cli/import.h"
#include "cli/job_flags.h"
#include "cli/output.h"
#include "cli/tree.h"
#include "core/base/fault.h"
#include "core/base/text.h"
#include "core/config/launch/framework.h"

namespace cli {
namespace {

using config::Value;

const char kModel[] = "huggingface";

/// Without places, which would be told beside the values, and without quotes that nobody needs.
void forget_places(Value& value) {
  value.where = {};
  const bool plain = value.text.find_first_not_of("abcdefghijklmnopqrstuvwxyz_-") == std::string::npos;
  if (plain && value.text != "no" && value.text != "off" && !value.text.empty()) value.quoted = false;
  for (Value& item : value.items) forget_places(item);
  for (auto& [key, entry] : value.entries) forget_places(entry);
}

/// There is no file yet in which to write a key.
base::InputError told_as_set(base::InputError error) {
  for (base::Fault& fault : error.faults) {
    if (fault.what != "is missing" || !fault.mend.starts_with("add `")) continue;
    fault.mend = "add --set " + fault.field + (fault.field.starts_with("model.") ? "=N" : "=VALUE");
  }
  return base::InputError(std::move(error.faults));
}

/// "--mystery-flag" as the message and a command line have it, or "mystery-flag".
std::vector<std::string> without_dashes(std::vector<std::string> options) {
  for (std::string& one : options) one.erase(0, std::min(one.find_first_not_of('-'), one.size()));
  return options;
}

std::map<std::string, std::string> variables_of(const Arguments& args) {
  std::map<std::string, std::string> out;
  for (const std::string& word : args.all("--variable")) {
    const std::size_t equals = word.find('=');
    if (equals == word.npos || equals == 0) {
      throw base::InputError({{"--variable",
                               base::quoted(word) + " is no variable with its value",
                               "write NAME=VALUE, such as TP=8, or 1=8 for a script's first argument",
                               {}}});
    }
    out[word.substr(0, equals)] = word.substr(equals + 1);
  }
  return out;
}

config::launch::Imported read(const Arguments& args, const config::Catalogue& catalogue) {
  const std::string format = args.operands()[0], file = args.operands()[1];
  const Value given = job_tree(args, catalogue, args.operands().size());
  try {
    if (format == kModel) return config::launch::import_model(file, given, catalogue);
    return config::launch::import_job(*config::launch::framework_named(format), file, given,
                                      without_dashes(args.all("--ignore")), catalogue, variables_of(args));
  } catch (const base::InputError& error) {
    throw told_as_set(told_as_flags(error, ""));
  }
}

}  // namespace

std::vector<std::string> job_formats() {
  std::vector<std::string> out = config::launch::framework_names(true);
  out.emplace_back(kModel);
  return out;
}

bool is_job_format(const std::string& format) {
  const config::launch::Framework* framework = config::launch::framework_named(format);
  return format == kModel || (framework && framework->read);
}

int import_job(const Arguments& args) {
  if (args.operands().size() != 2) {
    throw base::InputError(
        {{"FILE", args.operands().size() < 2 ? "is missing" : "is given twice", "name one configuration", {}}});
  }
  config::launch::Imported job = read(args, config::Catalogue::find());
  forget_places(job.tree);
  std::string text = "# Imported from " + std::filesystem::path(args.operands()[1]).filename().string() + " (" +
                     args.operands()[0] + ").\n";
  for (const std::string& remark : job.remarks) {
    text += "#   " + remark + '\n';
    std::cerr << "note: " << remark << '\n';
  }
  text += tree_text(job.tree, "", 0);
  write_to(args.has("--output") ? args.get("--output") : "-", "-o", [&](std::ostream& out) { out << text; });
  return kAnswered;
}

}  // namespace cli
