// cli/completion.cpp -- forerun completion bash|zsh|fish
// SPDX-License-Identifier: Apache-2.0
#include "cli/completion.h"

#include <algorithm>
#include <array>
#include <sstream>

#include "cli/exit_code.h"
#include "cli/output.h"
#include "core/base/fault.h"
#include "core/base/near_names.h"
#include "core/base/text.h"

namespace cli {
namespace {

struct Shell {
  const char* name;
  std::string (*script)(const std::vector<const Command*>&);
};
constexpr std::array kShells{Shell{"bash", bash_completion}, Shell{"zsh", zsh_completion},
                             Shell{"fish", fish_completion}};

int run_completion(const Arguments& args) {
  if (args.operands().empty()) {
    throw base::InputError({{"SHELL", "is missing", "write forerun completion bash, zsh or fish", {}}});
  }
  const std::string& word = args.operands().front();
  const auto shell = std::find_if(kShells.begin(), kShells.end(), [&](const Shell& s) { return s.name == word; });
  if (shell == kShells.end()) {
    throw base::InputError({{"SHELL",
                             "there is no script for '" + word + "'",
                             base::nearest_or(word, {"bash", "zsh", "fish"}, "write one of bash, zsh, fish"),
                             {}}});
  }
  print(shell->script(commands()));
  return kAnswered;
}

}  // namespace

std::string offers_of(const Option& option) {
  if (!option.offers.empty()) return option.offers;
  return option.value == "FILE" || option.value == "DIR" ? "<files>" : "";
}

std::string offers_of(const std::vector<Operand>& operands) {
  std::string out;
  for (const Operand& operand : operands) {
    std::istringstream words(operand.offers);
    for (std::string word; words >> word;) {
      if ((' ' + out + ' ').find(' ' + word + ' ') == std::string::npos) out += (out.empty() ? "" : " ") + word;
    }
  }
  return out;
}

const Command completion{
    .name = "completion",
    .summary = "Prints a script with which a shell completes subcommands, options and names.",
    .operands = {{"SHELL", "bash zsh fish", false, "bash zsh fish"}},
    .options = {},
    .notes = "An installed forerun brings the three scripts along.\n",
    .examples = {{"forerun completion bash > forerun.bash", "source it in ~/.bashrc"},
                 {"forerun completion zsh > _forerun", "put it into a folder of $fpath"},
                 {"forerun completion fish > forerun.fish", "put it into ~/.config/fish/completions"}},
    .run = run_completion,
};

}  // namespace cli
