// cli/path_flags.h -- flags that stand for fields of a file, and --set for all of them: laid over the file's tree.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cli/arguments.h"
#include "core/base/fault.h"
#include "core/config/document.h"

namespace cli {

inline constexpr char kSet[] = "--set";

struct PathFlag {
  const char *name, *path, *value, *help;  // an empty value: the flag alone means true
  const char* offers = "";
};

struct Setting {
  std::string path, value;
  std::string origin;  // as it was typed
};

/// What the flags that are given and every --set say, in the order in which they are laid over a file: flags, then
/// --set as they come, but a map as a whole before what lies in it, so that nothing of a command line is lost. An entry
/// of --set without a value has an empty path.
std::vector<Setting> settings_of(const Arguments&, std::span<const PathFlag>);

/// Throws base::InputError with every fault.
void lay_over(config::Value& tree, const Arguments&, std::span<const PathFlag>);

/// What is laid over again, as by --set over a flag, changes nothing, and a slip in it would go unseen: each is put
/// into its place in `tree`, which lay_over() made, for `read` to judge. Throws base::InputError with the faults of
/// their values alone.
void check_overridden(const config::Value& tree, const Arguments&, std::span<const PathFlag>,
                      const std::function<void(const config::Value&)>& read);

/// The fault of a field that is named by its key alone ("tp"), where a flag tells which is meant ("strategy.tp").
/// `option` is the one that names it.
std::optional<base::Fault> without_its_map(std::span<const PathFlag>, const std::string& option,
                                           const std::string& path);

/// The same faults, each of a missing key with the flag that gives it, and what else may.
base::InputError told_as_flags(const base::InputError&, std::span<const PathFlag>, const std::string& otherwise);

}  // namespace cli
