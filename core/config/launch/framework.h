// core/config/launch/framework.h -- the frameworks that a Job can be launched with, one file each; and the way in and
// out. Who adds one writes a data file (workloads/launch), a file here for what a table cannot say, and a line in the
// list of framework.cpp. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/config/launch/export.h"
#include "core/config/launch/import.h"
#include "core/config/launch/shell_variables.h"

namespace config::launch {

struct File {
  std::string name, text;
};

struct Framework {
  std::string_view name;                          // --to NAME, import NAME
  const char* title = nullptr;                    // where it is another than the table's
  std::string_view table;                         // workloads/launch/TABLE.yaml
  void (*write)(Export&) = nullptr;               // fills the options
  std::vector<File> (*files)(Export&) = nullptr;  // their text
  // What each node of a batch script runs, `file` the first of these; nullptr: no batch script starts it.
  std::string (*command)(const spec::Job&, const std::string& file) = nullptr;
  // A file's options; nullptr: export only.
  Settings (*parse)(const std::string& path, GivenVariables&) = nullptr;
  void (*read)(Import&) = nullptr;  // fills the Job's keys
};

extern const Framework kMegatron, kMegatronBridge, kNemo, kTorchtitan, kDeepspeed, kAccelerate, kMaxtext;
std::span<const Framework* const> frameworks();
/// {"megatron", "torchtitan", ...}: all, or those whose files are read as well.
std::vector<std::string> framework_names(bool imported_alone = false);
/// nullptr when there is none.
const Framework* framework_named(std::string_view name);

/// The command that starts one process a GPU of the job's cluster: "torchrun --nnodes 8 ..." and the program behind it.
/// On several nodes $HEAD_NODE names the first.
std::string torchrun(const spec::Job&);
/// A framework's command where its file is a shell script that calls the launcher itself.
std::string as_shell_script(const spec::Job&, const std::string& file);
/// The command over several lines of a script, 60 columns each where its words allow; those after the first begin with
/// `indent`. The text of a file does not depend on the terminal that shows it.
std::string folded(std::string_view command, std::string_view indent = "  ");
/// First lines of a file: what it is, by which table, of which Job.
std::string heading(const Export&, std::string_view comment);

struct Launch {
  std::vector<File> files;
  std::vector<std::string> notes;  // for the user: what the files do not hold
};
/// The Job of this tree for `to`, under whose profile it is resolved. `slurm` is the framework of the Job's own profile
/// with a batch script around it. Throws base::InputError: the Job is wrong, or what the framework cannot express, at
/// the places of the keys.
Launch export_job(const Value& tree, const Catalogue&, std::string_view to);

struct Imported {
  Value tree;                        // a Job file's
  std::vector<std::string> remarks;  // what was not taken in and has little or no effect
};
/// A file of `framework`, with the keys of `given` (flags, say) laid over it; options in `ignored` are the user's
/// affair. `variables`: what a script's are where it does not set them. Throws base::InputError with every option that
/// is not understood, and every fault of the Job.
Imported import_job(const Framework&, const std::string& path, const Value& given,
                    const std::vector<std::string>& ignored, const Catalogue&,
                    const std::map<std::string, std::string>& variables = {});
/// A model by itself, with everything else given.
Imported import_model(const std::string& path, const Value& given, const Catalogue&);

}  // namespace config::launch
