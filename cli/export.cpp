// cli/export.cpp -- forerun export [JOB] --to FRAMEWORK [flags] [-o FOLDER]: a Job as a framework's flags or files.
// SPDX-License-Identifier: Apache-2.0
#include <filesystem>
#include <iostream>
#include <ostream>

#include "cli/command.h"
#include "cli/exit_code.h"
#include "cli/job_flags.h"
#include "cli/output.h"
#include "cli/terminal.h"
#include "core/base/fault.h"
#include "core/base/text.h"
#include "core/config/launch/framework.h"
#include "reports/layout.h"

namespace cli {
namespace {

namespace fs = std::filesystem;

/// A script may have been changed by hand since it was written.
void refuse_replacing(const std::string& folder, const std::vector<config::launch::File>& files) {
  std::vector<std::string> there;
  std::error_code error;
  for (const config::launch::File& file : files) {
    if (fs::path path = fs::path(folder) / file.name; fs::exists(path, error)) there.push_back(path.string());
  }
  if (there.empty()) return;
  throw base::InputError({{"-o",
                           base::joined(there) + (there.size() == 1 ? " is" : " are") + " there already",
                           "name another folder, or add --overwrite",
                           {}}});
}

void write_folder(const std::string& folder, const std::vector<config::launch::File>& files) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error)
    throw base::InputError({{"-o", "cannot make the folder " + folder + ": " + error.message(), "name another", {}}});
  for (const config::launch::File& file : files) {
    const std::string path = (fs::path(folder) / file.name).string();
    write_to(path, "-o", [&](std::ostream& out) { out << file.text; });
    if (file.text.starts_with("#!")) fs::permissions(path, fs::perms::owner_exec, fs::perm_options::add, error);
    print("wrote " + path + '\n');
  }
}

/// Several files on stdout have their names between them.
std::string joined(const std::vector<config::launch::File>& files) {
  if (files.size() == 1) return files.front().text;
  std::string out;
  for (const config::launch::File& file : files)
    out += (out.empty() ? "==> " : "\n==> ") + file.name + " <==\n" + file.text;
  return out;
}

std::string targets() { return base::joined(config::launch::framework_names(), " ") + " slurm"; }

int run_export(const Arguments& args) {
  if (!args.has("--to")) {
    throw base::InputError(
        {{"--to", "is missing", "name a framework: --to megatron; `forerun export --help` shows all", {}}});
  }
  const config::Catalogue catalogue = config::Catalogue::find().remembering();
  const config::Value tree = job_tree(args, catalogue, 0);
  config::launch::Launch launch;
  try {
    launch = config::launch::export_job(tree, catalogue, args.get("--to"));
  } catch (const base::InputError& error) {
    if (!args.operands().empty()) throw;
    throw told_as_flags(error);
  }
  if (args.has("--output") && args.get("--output") != "-") {
    if (!args.has("--overwrite")) refuse_replacing(args.get("--output"), launch.files);
    write_folder(args.get("--output"), launch.files);
  } else {
    print(joined(launch.files));
  }
  for (const std::string& note : launch.notes) std::cerr << reports::paragraph("note: ", note, stderr_style().columns);
  return kAnswered;
}

}  // namespace

const Command export_job{
    .name = "export",
    .summary = "Writes a Job as the flags or files of a training framework.",
    .operands = {job_operand()},
    .options = with_job_flags({{"--to", "FRAMEWORK", targets(), false, targets()},
                               {"--output", "FOLDER", "where the files are written; -o for short; stdout without it"},
                               {"--overwrite", "", "replace files of that folder"}}),
    .notes =
        job_notes() +
        "What the framework cannot express is refused by the key of the Job, with the reason (docs/frameworks.md).\n"
        "slurm is a batch script around the framework of the Job's own profile.\n",
    .examples = {{"forerun export llama3-70b-64xh100 --to megatron -o launch", "a script with Megatron-LM's flags"},
                 {"forerun export llama3-70b-64xh100 --to slurm", "the same as a batch job"}},
    .run = run_export,
};

}  // namespace cli
