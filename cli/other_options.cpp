// SPDX-License-Identifier: Apache-2.0
#include "cli/other_options.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "cli/path_flags.h"
#include "core/base/near_names.h"
#include "core/config/job_keys.h"
#include "core/config/other_key_names.h"

namespace cli {
namespace {

/// Values of an option that other tools make options of their own.
struct Spelling {
  std::string_view name, option, mend;
};
constexpr std::array<Spelling, 5> kSpellings{{
    {"--fsdp", "--zero", "--zero 3 is FSDP"},
    {"--ddp", "--zero", "--zero 0 is DDP"},
    {"--bf16", "--precision", "write --precision bf16"},
    {"--fp16", "--precision", "write --precision fp16"},
    {"--fp8", "--precision", "write --precision fp8"},
}};

bool has(const std::vector<Option>& options, std::string_view name) {
  return std::ranges::any_of(options, [&](const Option& option) { return option.name == name; });
}

/// "--micro-batch" of training.micro_batch: flags are called after their keys.
std::string option_of(std::string_view path) {
  std::string out = "--" + std::string(path.substr(path.rfind('.') + 1));
  std::ranges::replace(out, '_', '-');
  return out;
}

}  // namespace

std::string meant_by(const std::string& option, const std::string& value, const std::vector<Option>& options) {
  for (const Spelling& one : kSpellings) {
    if (one.name == option && has(options, one.option)) return std::string(one.mend);
  }
  const std::string name = option.substr(std::min(option.find_first_not_of('-'), option.size()));
  if (const std::string flag = option_of(name); name.find('.') != name.npos && has(options, flag)) {
    return "did you mean " + flag + '?';
  }
  const std::string_view elsewhere = config::job_key_elsewhere_called(name);
  if (const std::string flag = option_of(elsewhere); !elsewhere.empty() && has(options, flag)) {
    return "did you mean " + flag + '?';
  }
  if (has(options, kSet)) {
    const std::string_view key = elsewhere.empty() ? name : elsewhere.substr(elsewhere.find('.') + 1);
    const std::string setting = config::job_setting(key, value);
    if (!setting.empty()) return "write --set " + setting;
  }
  std::vector<std::string> known;
  for (const Option& one : options) known.push_back(one.name);
  return base::nearest_or(option, known, "--help shows all options");
}

std::string mend_of_switch(const std::string& option, const std::string& value, const std::vector<Option>& options) {
  if (value != "false") return "write " + option + " alone";
  const std::string setting = has(options, kSet) ? config::job_setting(option.substr(2), value) : "";
  return "leave " + option + " out" + (setting.empty() ? "" : ", or write --set " + setting);
}

}  // namespace cli
