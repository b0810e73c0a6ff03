// core/config/launch/maxtext_file.cpp -- MaxText's options as files say them: a configuration and what it is based on,
// or the arguments of train.py in a shell script and the configuration that they name.
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>
#include <vector>

#include "core/base/text.h"
#include "core/config/launch/maxtext.h"
#include "core/config/launch/shell_words.h"

namespace config::launch {
namespace {

constexpr int kDeepest = 8;  // configurations that are based on one another

void put_over(Settings& out, const Settings& over) {
  for (const Setting& option : over.all()) out.set(option.name, option.value);
}

Settings configuration(const std::string& path, int depth);

/// What a configuration says that a file names: as it is named, from the file's folder, or beside the file. base.yml is
/// MaxText's own, whose values the importer knows.
Settings named_configuration(const std::string& name, const base::Where& where, int depth) {
  const std::filesystem::path named(name), folder = std::filesystem::path(where.file).parent_path();
  if (named.filename() == "base.yml") return {};
  if (depth > kDeepest) throw base::InputError({{"base_config", "is based on itself", "name base.yml", where}});
  for (const std::filesystem::path& there : {named, folder / named, folder / named.filename()}) {
    if (std::error_code none; std::filesystem::is_regular_file(there, none))
      return configuration(there.string(), depth + 1);
  }
  throw base::InputError({{named.filename().string(), "is not there, and says what these options leave out",
                           "put it beside " + std::filesystem::path(where.file).filename().string(), where}});
}

Settings configuration(const std::string& path, int depth) {
  const Settings own = flattened(load(path));
  const Value* below = own.find("base_config");
  if (!below || below->text.empty()) return own;
  base::Where where = below->where;
  where.file = path;
  Settings out = named_configuration(below->text, where, depth);
  put_over(out, own);
  return out;
}

/// "python3 MaxText/train.py base.yml a=b", "python3 -m maxtext.trainers.pre_train.train base.yml a=b".
bool is_program(const std::string& word) {
  return word.find_first_of(" \t\n") == std::string::npos && (word.ends_with("train.py") || word.ends_with(".train"));
}

/// Python takes quotes away that the shell leaves: A="remat_policy='full'".
std::string unquoted(std::string text) {
  const bool whole = text.size() > 1 && (text[0] == '\'' || text[0] == '"') && text.back() == text[0];
  return whole ? text.substr(1, text.size() - 2) : text;
}

struct Call {
  Settings options;
  const ShellWord* configuration = nullptr;
};

std::vector<Call> calls_of(const ShellScript& script) {
  const std::vector<ShellWord>& words = script.words;
  std::vector<Call> out;
  std::vector<base::Fault> unknown;
  for (auto at = words.begin(); at != words.end(); ++at) {
    if (!is_program(at->text)) continue;
    Call call;
    for (++at; at != words.end() && !at->ends_command; ++at) {
      const std::size_t equals = at->text.find('=');
      if (equals != std::string::npos && !at->text.starts_with('-')) {
        call.options.set(at->text.substr(0, equals), unquoted(at->text.substr(equals + 1)), at->where);
      } else if (is_maxtext_configuration(at->text)) {
        call.configuration = &*at;
      } else if (may_hold_words(at->text, script)) {
        unknown.push_back({"options", base::quoted(at->text) + " may hold options, and the text does not set it",
                           "write them in its place, or add --variable NAME=VALUE", at->where});
      }
    }
    if (call.configuration || !call.options.all().empty()) out.push_back(std::move(call));
    if (at == words.end()) break;
  }
  if (!unknown.empty()) throw base::InputError(std::move(unknown));
  return out;
}

Settings script(const std::string& path, GivenVariables& variables) {
  std::ifstream file(path);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const ShellScript read = shell_script(text, path, &variables);
  const std::vector<Call> calls = calls_of(read);
  if (calls.empty()) return {};
  Settings out;
  if (const ShellWord* named = calls.front().configuration) out = named_configuration(named->text, named->where, 0);
  put_over(out, calls.front().options);
  if (calls.size() > 1) out.set("train.py", std::to_string(calls.size()) + " calls");
  return out;
}

}  // namespace

Settings parse_maxtext(const std::string& path, GivenVariables& variables) {
  Settings out = is_maxtext_configuration(path) ? configuration(path, 0) : script(path, variables);
  for (Setting& option : out.all()) {
    std::string& text = option.value.text;  // 32_000 is a number
    if (!text.empty() && text[0] != '_' && text.find_first_not_of("0123456789_") == text.npos) std::erase(text, '_');
  }
  return out;
}

}  // namespace config::launch
