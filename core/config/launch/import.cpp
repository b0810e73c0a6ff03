// SPDX-License-Identifier: Apache-2.0
#include "core/config/launch/import.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdlib>
#include <optional>
#include <tuple>

#include "core/base/near_names.h"
#include "core/base/number.h"
#include "core/base/text.h"
#include "core/config/launch/known_options.h"

namespace config::launch {
namespace {

/// 0, 0.0 and 0e0 are the same number.
bool same(const std::string& a, const std::string& b) {
  if (a == b) return true;
  char *end_a = nullptr, *end_b = nullptr;
  const double x = std::strtod(a.c_str(), &end_a), y = std::strtod(b.c_str(), &end_b);
  return !a.empty() && !b.empty() && *end_a == '\0' && *end_b == '\0' && x == y;
}

bool is_variable(const Value& value) { return text_of(value).find('$') != std::string::npos; }

/// "TP" of "${TP}", "$TP" and "${TP[@]}"; nothing where the first variable is part of what is computed.
std::string variable_in(const std::string& text) {
  std::string_view rest = std::string_view(text).substr(text.find('$') + 1);
  const bool braced = rest.starts_with('{');
  if (braced) rest.remove_prefix(1);
  const auto end = std::ranges::find_if_not(rest, [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; });
  const std::string name(rest.begin(), end);
  rest.remove_prefix(name.size());
  constexpr std::array<std::string_view, 7> kBehind{"}", "[@]}", "[*]}", "+", ":+", "?", ":?"};
  const bool whole = !braced || std::ranges::any_of(kBehind, [&](auto end) { return rest.starts_with(end); });
  return whole ? name : "";
}

void refuse_variable(Import& i, const std::string& option) {
  const base::Fault fault = i.not_told(option, *i.options.find(option));
  i.refuse(option, fault.what, fault.mend);
}

void read_line(Import& i, const Line& line) {
  if (!line.needs.empty() && !i.keys.has(line.needs)) return;
  const Value* value = i.options.take(line.option);
  if (i.keys.has(line.key)) return;  // by an option that goes before
  if (!value) {
    if (line.absent) i.keys.set(line.key, *line.absent);
    return;
  }
  if (is_variable(*value)) return refuse_variable(i, line.option);
  const std::string text = text_of(*value);
  if (line.form != Line::Form::value) {
    const bool there = text != "false";
    return i.keys.set(line.key, there == (line.form == Line::Form::on) ? "true" : "false", value->where);
  }
  if (line.words.empty()) return i.keys.set(line.key, *value);
  std::string known;
  for (const auto& [ours, theirs] : line.words) {
    if (theirs == text) return i.keys.set(line.key, ours, value->where);
    known += (known.empty() ? "" : ", ") + theirs;
  }
  i.refuse(line.option, base::quoted(text) + " is nothing that a Job can say", "known are " + known);
}

std::vector<std::string> options_of(const Choice& choice) {
  std::vector<std::string> out;
  for (const Row& row : choice.rows) {
    for (const Setting& option : row.options) {
      if (std::find(out.begin(), out.end(), option.name) == out.end()) out.push_back(option.name);
    }
  }
  return out;
}

/// Whether the file says what the row does, and nothing else of the choice. `bound` becomes what "$" stands for.
bool fits(const Import& i, const Row& row, const std::vector<std::string>& options, Value& bound) {
  std::size_t there = 0;
  for (const std::string& option : options) there += i.options.has(option);
  if (there != row.options.size()) return false;
  const bool contradicts = std::any_of(row.job.begin(), row.job.end(), [&](const Setting& key) {
    const Value* known = i.keys.find(key.name);
    return known && key.value.text != "$" && text_of(*known) != text_of(key.value);
  });
  if (contradicts) return false;
  bound = {};
  return std::all_of(row.options.begin(), row.options.end(), [&](const Setting& option) {
    const Value* value = i.options.find(option.name);
    if (!value) return false;
    if (option.value.text != "$") return same(text_of(*value), text_of(option.value));
    const bool agrees = bound.kind == Value::Kind::null || same(text_of(*value), text_of(bound));
    bound = *value;
    return agrees;
  });
}

void read_choice(Import& i, const Choice& choice) {
  if (!choice.needs.empty() && !i.keys.has(choice.needs)) return;
  const std::vector<std::string> options = options_of(choice);
  std::string said;
  base::Where where;
  for (const std::string& option : options) {
    const Value* value = i.options.find(option);
    if (!value) continue;
    if (is_variable(*value)) {
      refuse_variable(i, option);
      for (const std::string& other : options) i.options.take(other);
      return;
    }
    said += (said.empty() ? "" : " with ") + option + ' ' + text_of(*value);
    where = value->where;
  }
  Value bound;
  const auto row =
      std::find_if(choice.rows.begin(), choice.rows.end(), [&](const Row& r) { return fits(i, r, options, bound); });
  if (row == choice.rows.end()) {
    const bool silent = said.empty();
    const std::string why = choice.because.empty() ? "" : ": " + choice.because;
    std::vector<std::string> known;  // what they may be
    for (const Row& r : choice.rows) {
      std::string words;
      for (const Setting& option : r.options)
        words += (words.empty() ? "" : " with ") + option.name + ' ' + text_of(option.value);
      if (!words.empty() && words.find('$') == words.npos) known.push_back(words);
    }
    i.faults.push_back({silent ? options.front() : said.substr(0, said.find(' ')),
                        silent ? "is missing, and what it is then is nothing that a Job can say"
                               : said + " is nothing that a Job can say",
                        !silent && !why.empty()     ? choice.because
                        : !silent && !known.empty() ? "write " + base::joined(known, " or ")
                                                    : "give " + options.front() + why,
                        where});
  } else {
    for (const Setting& key : row->job) {
      if (i.keys.has(key.name)) continue;
      Value value = key.value.text == "$" ? bound : key.value;
      value.where = where;
      i.keys.set(key.name, std::move(value));
    }
  }
  for (const std::string& option : options) i.options.take(option);
}

/// As YAML and Python spell them.
void spell_alike(Value& value) {
  for (const char* word : {"True", "TRUE"}) {
    if (value.text == word) value.text = "true";
  }
  for (const char* word : {"False", "FALSE"}) {
    if (value.text == word) value.text = "false";
  }
}

}  // namespace

base::Fault Import::not_told(const std::string& option, const Value& value) const {
  const std::string text = text_of(value), name = variable_in(text);
  return {option,
          base::quoted(text) + (name.empty() ? " is not computed here" : " is a variable that the text does not set"),
          std::string("write its value in its place") +
              (name.empty() || !is_script ? "" : ", or add --variable " + name + "=VALUE"),
          value.where};
}

std::optional<std::int64_t> Import::given_count(const std::string& key) const {
  return given.has(key) ? base::count_in(given.text(key)) : std::nullopt;
}

void Import::refuse(const std::string& option, std::string what, std::string mend) {
  const Value* value = options.take(option);
  base::Fault fault{option, std::move(what), std::move(mend), value ? value->where : base::Where{}};
  const bool told = std::ranges::any_of(faults, [&](const base::Fault& other) {
    return std::tie(other.field, other.what) == std::tie(fault.field, fault.what);
  });
  if (!told) faults.push_back(std::move(fault));
}

std::optional<std::int64_t> Import::number(const std::string& option) {
  const Value* value = options.take(option);
  if (!value) return std::nullopt;
  const auto out = value->kind == Value::Kind::scalar ? base::number_in<std::int64_t>(value->text) : std::nullopt;
  if (out) return out;
  if (is_variable(*value)) {
    refuse_variable(*this, option);
  } else {
    refuse(option, base::quoted(text_of(*value)) + " is no whole number", "write a number");
  }
  return std::nullopt;
}

void unify(Import& i) {
  Settings out;
  for (Setting& option : i.options.all()) {
    if (option.value.kind == Value::Kind::null) continue;
    spell_alike(option.value);
    const std::string* other = beside(i.table.other_names, option.name);
    if (other && other->starts_with("not ")) {
      option.name = other->substr(4);
      option.value.text = option.value.text == "false" ? "true" : "false";
    } else if (other) {
      option.name = *other;
    }
    const auto silent = [&](const Setting& s) {
      return s.name == option.name && same(text_of(s.value), text_of(option.value));
    };
    if (std::any_of(i.table.silence.begin(), i.table.silence.end(), silent)) continue;
    out.set(option.name, std::move(option.value));
    out.place_name(option.name, option.named);
  }
  i.options = std::move(out);
}

void read_keys(Import& i) {
  for (const Setting& option : i.table.always) {
    if (i.options.text(option.name) == text_of(option.value)) i.options.take(option.name);
  }
  for (const auto& item : i.table.keys) {
    if (const Line* line = std::get_if<Line>(&item)) {
      read_line(i, *line);
    } else {
      read_choice(i, std::get<Choice>(item));
    }
  }
}

/// The option that an option of the table goes with and the file does not give; "" when there is none.
std::string missing_beside(const Import& i, const std::string& option) {
  std::string needs;
  for (const auto& item : i.table.keys) {
    const Line* line = std::get_if<Line>(&item);
    if (line && line->option == option) needs = line->needs;
    const Choice* choice = std::get_if<Choice>(&item);
    if (choice && std::ranges::count(options_of(*choice), option) > 0) needs = choice->needs;
  }
  if (needs.empty() || i.keys.has(needs)) return "";
  for (const auto& item : i.table.keys) {
    const Line* line = std::get_if<Line>(&item);
    if (line && line->key == needs) return line->option;
  }
  return "";
}

/// Of an option itself, whatever its value.
void refuse_name(Import& i, const Setting& option, std::string what, std::string mend) {
  i.options.take(option.name);
  i.faults.push_back(
      {option.name, std::move(what), std::move(mend), option.named.line > 0 ? option.named : option.value.where});
}

void account_for_rest(Import& i) {
  std::vector<std::string> known = options_of_keys(i.table);
  known.insert(known.end(), i.also_known.begin(), i.also_known.end());
  for (const Setting& option : std::vector<Setting>(i.options.all())) {
    if (option.taken) continue;
    if (listed(i.table.no_effect, option.name)) {
      ++i.without_effect;
    } else if (listed(i.ignored, option.name) || listed(i.ignored, "all")) {
      i.left_out.push_back(option.name);
    } else if (const std::string* why = beside(i.table.small_effect, option.name)) {
      i.notes.push_back(option.name + ' ' + text_of(option.value) + ": " + *why);
    } else if (const std::string* why_not = beside(i.table.not_taken, option.name)) {
      i.refuse(option.name, "cannot be taken in: " + *why_not,
               "leave it out, or add --ignore " + option.name + " to predict a run without it");
    } else if (const std::string other = missing_beside(i, option.name); !other.empty()) {
      refuse_name(i, option, "is without effect where " + other + " is not given",
                  "add " + other + ", or leave it out");
    } else {
      refuse_name(i, option, "is not known",
                  base::nearest_and(option.name, known,
                                    "add --ignore " + option.name + " if it has no effect on time and memory"));
    }
  }
}

}  // namespace config::launch
