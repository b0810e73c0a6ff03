// cli/job_flags.h -- flags that stand for a field of the Job: one line each, so that adding one is adding a line.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "cli/arguments.h"
#include "core/base/fault.h"
#include "core/config/catalogue.h"
#include "core/config/document.h"
#include "core/spec/job.h"

namespace cli {

/// JOB, the job's flags and --set, for every subcommand that takes a Job.
std::vector<Option> with_job_flags(std::vector<Option> own);
Operand job_operand();
std::string job_notes();

/// The Job's tree before it is read: the operand of this number (none when there are fewer) below the flags and --set.
/// A dp of the file gives way to them (stated_dp.h).
config::Value job_tree(const Arguments&, const config::Catalogue&, std::size_t operand);
/// Reads such a tree; a fault of a Job made of flags alone names the flag that mends it.
spec::Job job_of(const config::Value& tree, const Arguments&, const config::Catalogue&);

/// A Job's tree with such flags laid over it: "--zero 3 --micro-batch 1".
config::Value with_flags(config::Value tree, const std::string& flags, const config::Catalogue&);

/// Lines of such flags as they have to be written behind this command line, and `paths` that are set as well: what
/// --set gives is changed by --set.
std::vector<std::string> behind(const Arguments&, std::vector<std::string> lines,
                                const std::vector<std::string>& paths = {});

/// The same faults, each of a missing key with the flag that gives it, and what else may.
base::InputError told_as_flags(const base::InputError&, const std::string& otherwise = ", or name a JOB file");

/// What the job's flags and --set say, as PATH=VALUE in the order in which they are laid over the file.
std::vector<std::string> job_settings(const Arguments&);

/// The fault of a field of the Job that is named by its key alone ("tp"), where a flag tells which is meant
/// ("strategy.tp"). `option` is the one that names it.
std::optional<base::Fault> without_its_map(const std::string& option, const std::string& path);

/// Reads the Job: the file first (a path, or a name in workloads/jobs), then flags, then --set in the order of
/// settings_of(); each lays itself over what came before. Without a file the flags alone make the Job. Throws
/// base::InputError with every fault.
spec::Job job_from(const Arguments&, const config::Catalogue&);

}  // namespace cli
