// SPDX-License-Identifier: Apache-2.0
#include "core/config/launch/megatron_script.h"

#include <algorithm>
#include <cctype>
#include <fstream>
#include <iterator>
#include <vector>

#include "core/config/launch/shell_words.h"

namespace config::launch {
namespace {

/// A word that is the program, or all of an array's words, ends what an option may take.
bool ends_values(const std::string& word) {
  return word.ends_with(".py") || word.find("[@]") != word.npos || word.find("[*]") != word.npos || word == "$@" ||
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

/// What stands behind each program of Python that is given options: "--tp 2 ${ARGS[@]}", at its place.
std::vector<ShellWord> launches_of(const Words& words) {
  std::vector<ShellWord> out;
  for (auto at = words.begin(); at != words.end();) {
    const auto end = std::find_if(at, words.end(), [](const ShellWord& word) { return word.ends_command; });
    const auto program = std::find_if(at, end, [](const ShellWord& word) { return word.text.ends_with(".py"); });
    std::string given;
    bool options = false;
    for (auto word = program; word != end; ++word) {
      given += ' ' + word->text;
      options |= word->text.starts_with("--") || word->text.find("[@]") != word->text.npos;
    }
    if (options) out.push_back({given.substr(1), program->where});
    at = end == words.end() ? end : end + 1;
  }
  return out;
}

/// One launch is predicted; one that is written twice, for this machine and for that, is one.
void refuse_several(const Words& words) {
  const std::vector<ShellWord> launches = launches_of(words);
  const auto other =
      std::ranges::find_if(launches, [&](const ShellWord& launch) { return launch.text != launches[0].text; });
  if (other == launches.end()) return;
  const auto name = [](const ShellWord& launch) { return launch.text.substr(0, launch.text.find(' ')); };
  throw base::InputError({{name(*other),
                           "is started beside " + name(launches[0]) + " of line " +
                               std::to_string(launches[0].where.line) + ", with other arguments",
                           "leave one of them in the file", other->where}});
}

Settings options_of(const Words& words) {
  refuse_several(words);
  Settings out;
  std::vector<std::string> conditional;
  for (std::size_t i = 0; i < words.size();) {
    const ShellWord& word = words[i++];
    if (!word.text.starts_with("--") || word.text.size() == 2) continue;
    const std::size_t equals = word.text.find('=');
    const std::string name = dashed(word.text.substr(2, equals == word.text.npos ? equals : equals - 2));
    Words values;
    if (equals != word.text.npos) {
      values.push_back({word.text.substr(equals + 1), word.where});
    } else {
      while (i < words.size() && !words[i].ends_command && !words[i].text.starts_with("--") &&
             !ends_values(words[i].text)) {
        values.push_back(words[i++]);
      }
    }
    out.set(name, value_of(values, word.where));
    std::erase(conditional, name);
    if (word.conditional || std::ranges::any_of(values, &ShellWord::conditional)) conditional.push_back(name);
  }
  if (!conditional.empty()) out.set(kUnderCondition, list_of(conditional));
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

Settings script_options(const std::string& path) {
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
  return options_of(shell_words(text, path));
}

}  // namespace config::launch
