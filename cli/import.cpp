// cli/import.cpp -- forerun import FORMAT FILE...: what other tools wrote becomes files of this one.
// SPDX-License-Identifier: Apache-2.0
#include "cli/import.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "cli/collective_cluster.h"
#include "cli/command.h"
#include "cli/import_kineto.h"
#include "cli/job_flags.h"
#include "core/base/fault.h"
#include "core/base/text.h"

namespace cli {
namespace {

std::string formats() { return base::joined(job_formats(), " ") + " nccl-tests kineto"; }

/// What is read is not what is written.
void refuse_own_input(const Arguments& args) {
  std::error_code error;
  for (std::size_t i = 1; args.has("--output") && i < args.operands().size(); ++i) {
    if (!std::filesystem::equivalent(args.operands()[i], args.get("--output"), error)) continue;
    throw base::InputError({{"-o", args.operands()[i] + " is what is read", "name another file", {}}});
  }
}

int run_import(const Arguments& args) {
  const std::vector<std::string>& words = args.operands();
  refuse_own_input(args);
  if (!words.empty() && words[0] == "nccl-tests") return import_network(args);
  if (!words.empty() && words[0] == "kineto") return import_kineto(args);
  if (!words.empty() && is_job_format(words[0])) return import_job(args);
  throw base::InputError({{"FORMAT",
                           words.empty() ? "is missing" : base::quoted(words[0]) + " cannot be imported",
                           "write forerun import nccl-tests LOG... --node NODE -o FILE.yaml, forerun import kineto "
                           "TRACE -o FILE.json, or a "
                           "configuration of " +
                               base::joined(job_formats()),
                           {}}});
}

std::vector<Option> import_options() {
  std::vector<Option> all = cluster_options();
  for (Option& option : with_job_flags({})) {
    const auto same = [&](const Option& other) { return other.name == option.name; };
    if (std::none_of(all.begin(), all.end(), same)) all.push_back(std::move(option));
  }
  for (Option& option : kineto_options()) all.push_back(std::move(option));
  all.push_back({"--ignore", "OPTION", "an option of the file that has no effect on time and memory; or all", true});
  all.push_back({"--variable", "NAME=VALUE",
                 "of a script that does not set it: its environment, or 1=VALUE for its first argument", true});
  all.push_back({"--output", "FILE", "what to write; -o for short; - prints it, as a Job is without it"});
  return all;
}

}  // namespace

const Command import_logs{
    .name = "import",
    .summary =
        "Makes Jobs from frameworks' configurations, calibration files from measurements, recorded steps from "
        "profiles.",
    .operands =
        {{"FORMAT", formats(), false, formats()},
         {"FILE",
          "the configuration; or logs of nccl-tests, one test or more a file, the JSON of -J too; or a trace of "
          "PyTorch's profiler",
          true, "<files>"}},
    .options = import_options(),
    .notes =
        "Job flags give what a configuration lacks and override what it says; options that are not understood are told "
        "by name (docs/frameworks.md). Ranks and hosts of logs are taken from them where they tell them "
        "(docs/network.md).\n",
    .examples = {{"forerun import megatron train.sh --node dgx-h100 --nodes 8 -o job.yaml",
                  "the Job of a launch script", "a script"},
                 {"forerun import nccl-tests all_reduce.log all_gather.log --node dgx-h100 -o my-links.yaml",
                  "curves for `links:` of a node", "logs of nccl-tests"},
                 {"forerun import kineto rank0.pt.trace.json.gz -o recorded.json",
                  "a step for `forerun explain JOB --against recorded.json`", "a profile"}},
    .run = run_import,
};

}  // namespace cli
