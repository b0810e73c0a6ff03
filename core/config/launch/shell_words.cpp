// SPDX-License-Identifier: Apache-2.0
#include "core/config/launch/shell_words.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <optional>
#include <string_view>

#include "core/config/launch/shell_arithmetic.h"

namespace config::launch {
namespace {

constexpr std::array<std::string_view, 5> kDeclare{"export", "declare", "typeset", "local", "readonly"};
/// What a command stands behind.
constexpr std::array<std::string_view, 10> kBefore{"env",   "if",    "then", "else", "elif",
                                                   "while", "until", "do",   "{",    "!"};
bool among(const auto& names, std::string_view word) { return std::ranges::find(names, word) != names.end(); }

bool is_name_letter(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

class Lexer {
 public:
  Lexer(std::string_view text, const std::string& name) : text_(text) { at_.file = name; }
  /// Of a text inside of another, all of whose words are said to be where that is.
  Lexer(std::string_view text, const base::Where& inside) : text_(text), at_(inside) {}

  std::vector<ShellWord> words() {
    while (pos_ < text_.size()) step();
    end_command();
    return std::move(out_);
  }

 private:
  char peek(std::size_t ahead = 0) const { return pos_ + ahead < text_.size() ? text_[pos_ + ahead] : '\0'; }
  char next() {
    const char c = text_[pos_++];
    if (c == '\n') {
      ++at_.line;
      at_.column = 1;
    } else {
      ++at_.column;
    }
    return c;
  }

  void step() {
    const char c = peek();
    if (c == '\\' && (peek(1) == '\n' || (peek(1) == '\r' && peek(2) == '\n'))) {
      end_word();
      while (next() != '\n') {
      }
    } else if (c == '#' && !in_word_) {
      while (pos_ < text_.size() && peek() != '\n') next();
    } else if (c == '\n' || c == ';' || c == '&' || c == '|') {
      next();
      end_word();
      if (depth_ == 0) end_command();
    } else if (std::isspace(static_cast<unsigned char>(c))) {
      next();
      end_word();
    } else if (c == '(' || c == ')') {
      parenthesis(next());
    } else {
      begin_word();
      piece();
    }
  }

  /// NAME=( begins an array, whose words are words like others. What nothing opens ends a pattern of case.
  void parenthesis(char c) {
    if (c == '(' && in_word_ && word_.text.ends_with('=')) {
      in_word_ = false;
      ++depth_;
      return;
    }
    if (c == '(' && peek() == ')' && in_word_ && !word_.text.ends_with('$')) {
      next();  // the name of a function
      in_word_ = false;
      return;
    }
    end_word();
    if (c == '(') {
      ++open_;
    } else if (open_ > 0) {
      --open_;
    } else if (depth_ > 0) {
      --depth_;
      end_command();
    } else {
      while (!out_.empty() && !out_.back().ends_command) out_.pop_back();
    }
  }

  void piece() {
    const char c = peek();
    if (c == '\'' || c == '"') {
      quoted(c);
    } else if (c == '$') {
      fields(variable());
    } else {
      if (c == '\\' && pos_ + 1 < text_.size()) next();
      word_.text += next();
    }
  }

  void quoted(char quote) {
    const base::Where begin = at_;
    next();
    while (pos_ < text_.size() && peek() != quote) {
      if (quote == '"' && peek() == '$') {
        word_.text += variable();
      } else {
        const bool escaped = quote == '"' && peek() == '\\' && pos_ + 1 < text_.size();
        if (escaped) next();
        const char c = next();
        if (!escaped || c != '\n') word_.text += c;  // a line that goes on
      }
    }
    if (pos_ >= text_.size()) {
      throw base::InputError({{std::string(1, quote), "opens a text that nothing closes", "close it", begin}});
    }
    next();
  }

  /// What an expansion outside of quotes becomes: $ARGS is as many words as it holds, but not behind NAME=.
  void fields(const std::string& value) {
    if (assignment() != std::string::npos) {
      word_.text += value;
      return;
    }
    for (const char c : value) {
      if (std::isspace(static_cast<unsigned char>(c)) == 0) {
        begin_word();
        word_.text += c;
      } else if (!word_.text.empty()) {
        end_word();
      }
    }
    if (word_.text.empty()) in_word_ = false;
  }

  /// The value of $((...)) where all that it names is known; otherwise it stays as it is.
  std::string arithmetic() {
    std::string as_written = "$";
    int open = 0;
    do {
      open += peek() == '(' ? 1 : peek() == ')' ? -1 : 0;
      as_written += next();
    } while (open > 0 && pos_ < text_.size());
    if (!as_written.ends_with("))")) return as_written;
    const auto value_of = [&](const std::string& name) {
      const auto known = variables_.find(name);
      return known == variables_.end() ? std::nullopt : std::optional(known->second);
    };
    const std::string_view inside = std::string_view(as_written).substr(3, as_written.size() - 5);
    const std::optional<std::int64_t> value = shell_arithmetic(inside, value_of);
    return value ? std::to_string(*value) : as_written;
  }

  /// The value of $NAME, ${NAME}, ${NAME:-otherwise} and $((...)); anything else stays as it is.
  std::string variable() {
    std::string as_written(1, next());
    if (peek() == '(' && peek(1) == '(') return arithmetic();
    std::string name, otherwise;
    const bool braced = peek() == '{';
    if (braced) {
      as_written += next();
      while (pos_ < text_.size() && peek() != '}') as_written += next();
      if (pos_ < text_.size()) as_written += next();
      name = as_written.substr(2, as_written.size() - 3);
      if (const std::size_t dash = name.find(":-"); dash != name.npos) {
        otherwise = name.substr(dash + 2);
        name.resize(dash);
      }
    } else {
      while (is_name_letter(peek())) as_written += next();
      name = as_written.substr(1);
    }
    if (otherwise.size() > 1 && (otherwise[0] == '"' || otherwise[0] == '\'') && otherwise.back() == otherwise[0])
      otherwise = otherwise.substr(1, otherwise.size() - 2);
    const auto known = variables_.find(name);
    return known != variables_.end() ? known->second : otherwise.empty() ? as_written : otherwise;
  }

  void begin_word() {
    if (in_word_) return;
    in_word_ = true;
    word_ = {"", at_};
  }
  void end_word() {
    if (!in_word_) return;
    in_word_ = false;
    if (const std::size_t equals = assignment(); equals != std::string::npos && begins_command()) {
      variables_[word_.text.substr(0, equals)] = word_.text.substr(equals + 1);
    } else if (holds_words()) {
      for (ShellWord& inner : Lexer(word_.text, word_.where).words()) {
        if (!inner.ends_command) out_.push_back(std::move(inner));
      }
    } else {
      out_.push_back(word_);
    }
  }
  /// One word for this shell that is several to who reads it: a command behind -c, "--option value" in an array that is
  /// expanded without quotes.
  bool holds_words() const {
    if (word_.text.find(' ') == std::string::npos) return false;
    const bool command = !out_.empty() && (out_.back().text == "-c" || out_.back().text == "-lc");
    return command || (depth_ > 0 && word_.text.starts_with("--") && word_.text.find('=') > word_.text.find(' '));
  }
  void end_command() {
    end_word();
    if (!out_.empty() && !out_.back().ends_command) out_.push_back({"", at_, true});
  }
  /// Whether nothing but what takes variables stands in front: NAME=value behind a program is its argument, and a word
  /// of an array.
  bool begins_command() const {
    if (depth_ > 0) return false;
    auto word = std::find_if(out_.rbegin(), out_.rend(), [](const ShellWord& w) { return w.ends_command; }).base();
    bool declares = false;  // names without a value may stand between
    for (; word != out_.end(); ++word) {
      declares |= among(kDeclare, word->text);
      if (!declares && !among(kBefore, word->text) && !word->text.starts_with('-')) return false;
    }
    return true;
  }
  /// Where the "=" of NAME=value is.
  std::size_t assignment() const {
    const std::size_t equals = word_.text.find('=');
    if (equals == 0 || equals == std::string::npos) return std::string::npos;
    for (std::size_t i = 0; i < equals; ++i) {
      if (!is_name_letter(word_.text[i])) return std::string::npos;
    }
    return equals;
  }

  std::string_view text_;
  std::size_t pos_ = 0;
  base::Where at_{"", 1, 1};
  int depth_ = 0;  // of arrays
  int open_ = 0;   // parentheses of others
  bool in_word_ = false;
  ShellWord word_;
  std::map<std::string, std::string> variables_;
  std::vector<ShellWord> out_;
};

}  // namespace

std::vector<ShellWord> shell_words(std::string_view text, const std::string& name) { return Lexer(text, name).words(); }

}  // namespace config::launch
