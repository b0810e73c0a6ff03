// SPDX-License-Identifier: Apache-2.0
#include "core/config/launch/shell_scanner.h"

#include <algorithm>
#include <cctype>
#include <utility>
#include <vector>

namespace config::launch {

Place ShellScanner::place() const {
  if (text_.places.empty()) return {};
  return text_.places[std::min(at_, text_.places.size() - 1)];
}

std::string ShellScanner::brackets(char opens, char closes) {
  std::string out;
  int open = 0;
  do {
    open += peek() == opens ? 1 : peek() == closes ? -1 : 0;
    out += next();
  } while (open > 0 && more());
  return out;
}

void ShellScanner::skip_line() {
  while (more() && peek() != '\n') next();
}

void ShellScanner::skip_document(const std::string& end) {
  std::string now;
  bool first = true;
  while (more() && (first || now != end)) {
    first = false;
    now.clear();
    while (more() && peek() != '\n') now += next();
    now.erase(0, now.find_first_not_of('\t'));
    if (more()) next();
  }
}

std::string ShellScanner::command(int deep) {
  std::string out;
  std::vector<std::string> documents;
  int open = 0;
  do {
    const bool begins = out.empty() || std::isspace(static_cast<unsigned char>(out.back())) != 0;
    if (peek() == '#' && begins) {
      skip_line();
      continue;
    }
    const char c = next();
    out += c;
    open += c == '(' ? 1 : c == ')' ? -1 : 0;
    if (c == '\\' && more()) {
      out += next();
    } else if (c == '\'' || c == '"') {
      out += rest_of_quotes(c, deep);
    } else if (c == '<' && peek() == '<' && peek(1) == '<') {
      out += {next(), next()};
    } else if (c == '<' && peek() == '<') {
      out += next();
      documents.push_back(document_end());
    } else if (c == '\n') {
      for (const std::string& end : std::exchange(documents, {})) skip_document(end);
    }
  } while (open > 0 && more());
  return out;
}

std::string ShellScanner::rest_of_quotes(char quote, int deep) {
  std::string out;
  while (more()) {
    const char c = next();
    out += c;
    if (c == quote) break;
    if (quote == '"' && c == '\\' && more()) out += next();
    if (quote == '"' && c == '$' && peek() == '(' && deep < kMostNested) out += command(deep + 1);
  }
  return out;
}

/// The word behind "<<", without quotes.
std::string ShellScanner::document_end() {
  while (peek() == '-' || peek() == ' ') next();
  std::string out;
  while (more() && std::string_view(" \n;|&)").find(peek()) == std::string_view::npos) {
    const char c = next();
    if (c != '\'' && c != '"') out += c;
  }
  return out;
}

}  // namespace config::launch
