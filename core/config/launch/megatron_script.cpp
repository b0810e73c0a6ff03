// SPDX-License-Identifier: Apache-2.0
#include "core/config/launch/megatron_script.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <fstream>
#include <iterator>
#include <span>
#include <string_view>
#include <vector>

#include "core/base/number.h"
#include "core/base/text.h"
#include "core/config/launch/shell_header.h"
#include "core/config/launch/shell_words.h"

namespace config::launch {
namespace {

/// A word that is the program, or all of an array's words, ends what an option may take.
bool ends_values(const std::string& word) {
  return word.ends_with(".py") || word.find("[@]") != word.npos || word.find("[*]") != word.npos ||
         is_arguments(word) ||
         (word.size() == 2 && word[0] == '-' && !std::isdigit(static_cast<unsigned char>(word[1])));
}

Value value_of(const std::vector<ShellWord>& values, const base::Where& where) {
  if (values.empty()) return scalar("true", where);
  if (values.size() == 1) return scalar(values.front().text, values.front().where);
  Value list = list_of({});
  list.where = values.front().where;
  for (const ShellWord& word : values) list.items.push_back(scalar(word.text, word.where));
  return list;
}

using Words = std::vector<ShellWord>;

/// Commands that start no training, whatever options they have.
constexpr std::array<std::string_view, 20> kOthers{"apt",  "apt-get", "cat",    "conda", "cp",     "curl", "docker",
                                                   "echo", "git",     "ls",     "mkdir", "module", "mv",   "nvidia-smi",
                                                   "pip",  "pip3",    "printf", "rm",    "tar",    "wget"};

struct Program {
  std::string name;   // "pretrain_gpt.py"
  std::string given;  // "--tp 2 ${ARGS[@]}"
  base::Where where;
  std::size_t begin = 0, end = 0;  // its words, the program's first
};

/// Programs of Python that are given options.
std::vector<Program> launches_of(const Words& words) {
  std::vector<Program> out;
  for (std::size_t at = 0; at < words.size(); ++at) {
    if (!words[at].text.ends_with(".py")) continue;
    Program launch{words[at].text, "", words[at].where, at, at};
    bool options = false;
    for (std::size_t& i = launch.end; i < words.size() && !words[i].ends_command; ++i) {
      launch.given += words[i].text + ' ';
      options |= words[i].text.starts_with("--") || words[i].text.find("[@]") != std::string::npos;
    }
    at = launch.end;
    if (options) out.push_back(std::move(launch));
  }
  return out;
}

bool trains(const Program& launch) {
  const std::string name = launch.name.substr(launch.name.rfind('/') + 1);
  return name.find("train") != name.npos || name.find("tune") != name.npos;
}

/// One launch is predicted; one that is written twice, for this machine and for that, is one. What prepares data or
/// weights beside it is put aside.
void keep_one_launch(Words& words, std::vector<std::string>& others) {
  std::vector<Program> launches = launches_of(words);
  if (std::ranges::any_of(launches, trains)) {
    for (auto launch = launches.rbegin(); launch != launches.rend(); ++launch) {
      if (trains(*launch)) continue;
      others.push_back(launch->name);
      words.erase(words.begin() + static_cast<std::ptrdiff_t>(launch->begin),
                  words.begin() + static_cast<std::ptrdiff_t>(launch->end));
    }
    std::erase_if(launches, [](const Program& launch) { return !trains(launch); });
  }
  const auto other =
      std::ranges::find_if(launches, [&](const Program& launch) { return launch.given != launches[0].given; });
  if (other == launches.end()) return;
  throw base::InputError({{other->name,
                           "is started beside " + launches[0].name + " of line " +
                               std::to_string(launches[0].where.line) + ", with other arguments",
                           "leave one of them in the file", other->where}});
}

/// Nodes that the srun in front of the program at `begin` is asked for.
std::optional<ShellWord> nodes_of(const Words& words, std::size_t begin) {
  std::size_t first = begin;
  while (first > 0 && !words[first - 1].ends_command) --first;
  while (first < begin && words[first].text != "srun") ++first;
  return slurm_nodes(std::span(words).subspan(first, begin - first));
}

/// Options whose values are as many as one likes.
bool takes_many(const std::string& option) {
  return option.find("data") != option.npos || option.find("blend") != option.npos || option == "rampup-batch-size";
}

/// Files whose text a script makes its own.
std::vector<std::string> sourced(const Words& words) {
  std::vector<std::string> out;
  bool begins = true;
  for (std::size_t i = 0; i + 1 < words.size(); ++i) {
    if (begins && (words[i].text == "source" || words[i].text == ".")) out.push_back(words[i + 1].text);
    begins = words[i].ends_command;
  }
  return out;
}

/// Without the words of commands like echo.
Words without_others(const Words& words) {
  Words out;
  bool begins = true, other = false;
  for (const ShellWord& word : words) {
    if (begins) other = std::ranges::find(kOthers, word.text) != kOthers.end();
    if (!other || word.ends_command) out.push_back(word);
    begins = word.ends_command;
  }
  return out;
}

Settings options_of(const ShellScript& script) {
  Words words = without_others(script.words);
  std::vector<std::string> beside;
  keep_one_launch(words, beside);
  Settings out;
  std::vector<std::string> conditional;
  Value unknown = list_of({});
  const std::vector<Program> launches = launches_of(words);
  const auto is_unknown = [&](std::size_t at) {
    const bool given = std::ranges::any_of(launches, [&](const Program& p) { return p.begin < at && at < p.end; });
    return given && may_hold_words(words[at].text, script);
  };
  for (std::size_t i = 0; i < words.size();) {
    const ShellWord& word = words[i++];
    if (!word.text.starts_with("--") || word.text.size() == 2) {
      if (is_unknown(i - 1)) unknown.items.push_back(scalar(word.text, word.where));
      continue;
    }
    const std::size_t equals = word.text.find('=');
    const std::string name = dashed(word.text.substr(2, equals == word.text.npos ? equals : equals - 2));
    Words values;
    if (equals != word.text.npos) {
      values.push_back({word.text.substr(equals + 1), word.where});
    } else {
      while (i < words.size() && !words[i].ends_command && !words[i].text.starts_with("--") &&
             !ends_values(words[i].text) && (values.empty() || takes_many(name) || !is_unknown(i))) {
        values.push_back(words[i++]);
      }
    }
    out.set(name, value_of(values, word.where));
    out.place_name(name, word.where);
    std::erase(conditional, name);
    if (word.conditional || std::ranges::any_of(values, &ShellWord::conditional)) conditional.push_back(name);
  }
  if (!conditional.empty()) out.set(kUnderCondition, list_of(conditional));
  if (!unknown.items.empty()) out.set(kUnknown, unknown);
  std::optional<ShellWord> nodes = launches.empty() ? std::nullopt : nodes_of(words, launches.front().begin);
  if (!nodes) nodes = script.nodes;
  if (!out.has("nnodes") && nodes) out.set("nnodes", nodes->text, nodes->where);
  std::vector<std::string> notes, replaced;
  if (const auto files = sourced(words); !files.empty())
    notes.push_back(base::joined(files) + ": another file, not read");
  if (!beside.empty()) notes.push_back(base::joined(beside) + ": another program, not read");
  for (const ShellVariables::Replaced& one : script.replaced)
    replaced.push_back(one.name + " of line " + std::to_string(one.then.line) + " (in place of line " +
                       std::to_string(one.first.line) + "'s)");
  const auto& blocking = script.launch_blocking;
  if (blocking && base::count_in(blocking->text).value_or(0) != 0) {
    out.set(kLaunchBlocking, scalar("true", blocking->where));
    if (blocking->conditional) notes.push_back("CUDA_LAUNCH_BLOCKING" + std::string(kAsIfItHeld));
  }
  if (!replaced.empty()) notes.push_back("options of " + base::joined(replaced) + kAsIfItHeld);
  if (!notes.empty()) out.set(kNotes, list_of(notes));
  return out;
}

/// No script has such bytes, and a message that names one would garble the terminal.
bool is_no_text(unsigned char c) { return (c < 0x20 && std::isspace(c) == 0) || c == 0x7f; }

}  // namespace

std::string dashed(std::string name) {
  if (name.starts_with("--")) name.erase(0, 2);
  std::replace(name.begin(), name.end(), '_', '-');
  return name;
}

Settings script_options(const std::string& path, GivenVariables& variables) {
  std::ifstream file(path, std::ios::binary);
  if (!file)
    throw base::InputError({{"FILE", "cannot be read", "name a text with Megatron-LM's arguments", {path, 0, 0}}});
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  if (const auto at = std::ranges::find_if(text, is_no_text); at != text.end()) {
    const auto line = 1 + std::count(text.begin(), at, '\n');
    throw base::InputError({{"FILE",
                             "holds bytes that are no text",
                             "name a shell script, or arguments saved as YAML",
                             {path, static_cast<int>(line), 1}}});
  }
  return options_of(shell_script(text, path, &variables));
}

}  // namespace config::launch
