// SPDX-License-Identifier: Apache-2.0
#include "core/config/launch/shell_expansion.h"

#include <algorithm>
#include <cctype>
#include <string_view>

#include "core/config/launch/shell_arithmetic.h"

namespace config::launch {
namespace {

/// What stands behind "$", or between the braces.
struct Parameter {
  std::string name;                           // with what is not read here: "NAME:0:3"
  std::optional<std::string> otherwise = {};  // behind "-", "=" or "+"
  bool instead = false;                       // "+": where it has a value
  bool or_empty = false;                      // a colon: an empty value is none
};

std::string without_quotes(std::string text) {
  const bool quoted = text.size() > 1 && (text[0] == '"' || text[0] == '\'') && text.back() == text[0];
  return quoted ? text.substr(1, text.size() - 2) : text;
}

Parameter parameter_in(const std::string& braces) {
  const auto end = std::ranges::find_if_not(braces, is_name_letter);
  std::string_view rest = std::string_view(braces).substr(static_cast<std::size_t>(end - braces.begin()));
  Parameter out{braces};
  out.or_empty = rest.starts_with(':');
  if (out.or_empty) rest.remove_prefix(1);
  out.instead = rest.starts_with('+');
  if (out.instead || rest.starts_with('-') || rest.starts_with('='))
    out.otherwise = without_quotes(std::string(rest.substr(1)));
  if (out.otherwise || rest.starts_with('?') || rest == "[@]" || rest == "[*]") out.name.assign(braces.begin(), end);
  return out;
}

/// Behind a "$" without braces.
std::string plain_name(ShellScanner& text) {
  std::string out;
  if (std::isdigit(static_cast<unsigned char>(text.peek())) != 0) {
    out += text.next();  // $10 is $1 and a 0
  } else {
    while (is_name_letter(text.peek())) out += text.next();
  }
  return out;
}

}  // namespace

bool is_name_letter(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

PlacedText ShellExpansion::variable(ShellScanner& text) const {
  const Place begin = text.place();
  text.next();
  if (text.peek() == '(' && text.peek(1) == '(') return arithmetic(text, begin);
  if (text.peek() == '(') return at_one('$' + text.command(), {begin.line, begin.column, false, true});
  const bool braced = text.peek() == '{';
  const std::string written = braced ? text.brackets('{', '}') : plain_name(text);
  const Parameter asked = braced ? parameter_in(written.substr(1, written.size() - 2)) : Parameter{written};
  const PlacedText* set = variables_.find(asked.name);
  const std::string* given = set ? nullptr : variables_.given(asked.name);
  const bool there = set || given;
  const bool empty = there && (set ? set->letters : *given).empty();
  if (asked.instead && there) {
    if (asked.or_empty && empty) return {};
    return expanded(*asked.otherwise, {begin.line, begin.column, set && set->conditional()});
  }
  if (there && !(asked.or_empty && empty && asked.otherwise)) return set ? *set : at_one(*given, begin);
  if (asked.otherwise && !asked.instead) return expanded(*asked.otherwise, begin);
  if (!there && variables_.left_empty(asked.name)) return {};
  return at_one('$' + written, begin);
}

PlacedText ShellExpansion::quoted(ShellScanner& text, char quote) const {
  PlacedText out;
  while (text.more() && text.peek() != quote) {
    if (quote == '"' && text.peek() == '$') {
      out.add(variable(text));
      continue;
    }
    const bool escaped = quote == '"' && text.peek() == '\\' && text.more(1);
    if (escaped) text.next();
    const Place at = text.place();
    const char letter = text.next();
    if (!escaped || letter != '\n') out.add(letter, at);  // a line that goes on
  }
  return out;
}

std::optional<std::int64_t> ShellExpansion::computed(std::string_view arithmetic, Place& begin) const {
  return shell_arithmetic(arithmetic, [&](const std::string& name) -> std::optional<std::string> {
    if (const PlacedText* set = variables_.find(name)) {
      begin.conditional |= set->conditional();
      return set->letters;
    }
    const std::string* given = variables_.given(name);
    return given ? std::optional(*given) : std::nullopt;
  });
}

PlacedText ShellExpansion::arithmetic(ShellScanner& text, Place begin) const {
  std::string written = text.brackets('(', ')');
  if (!written.ends_with("))")) return at_one('$' + written, begin);
  if (const auto value = computed(std::string_view(written).substr(2, written.size() - 4), begin))
    return at_one(std::to_string(*value), begin);
  std::erase_if(written, [](unsigned char c) { return std::isspace(c) != 0; });  // one word it stays
  return at_one('$' + written, begin);
}

/// The text in place of a variable, as it stands between quotes.
PlacedText ShellExpansion::expanded(const std::string& text, Place at) const {
  if (text.find('$') == text.npos || text.find('"') != text.npos || nested_ >= kMostNested) return at_one(text, at);
  ShellScanner inside(at_one(text, at));
  const PlacedText value = ShellExpansion(variables_, nested_ + 1).quoted(inside, '"');
  at.conditional |= value.conditional();
  return at_one(value.letters, at);
}

}  // namespace config::launch
