// SPDX-License-Identifier: Apache-2.0
#include "core/config/launch/shell_words.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "core/config/launch/shell_arithmetic.h"
#include "core/config/launch/shell_branches.h"
#include "core/config/launch/shell_header.h"
#include "core/config/launch/shell_text.h"
#include "core/config/launch/shell_variables.h"

namespace config::launch {
namespace {

constexpr std::array<std::string_view, 5> kDeclare{"export", "declare", "typeset", "local", "readonly"};
/// What a command stands behind.
constexpr std::array<std::string_view, 10> kBefore{"env",   "if",    "then", "else", "elif",
                                                   "while", "until", "do",   "{",    "!"};
bool among(const auto& names, std::string_view word) { return std::ranges::find(names, word) != names.end(); }

/// What asks for a truth.
constexpr std::array<std::string_view, 3> kAsks{"[", "[[", "test"};

/// What is followed by a question.
constexpr std::array<std::string_view, 4> kIfs{"if", "elif", "while", "until"};

constexpr int kMostNested = 8;  // a text that evaluates itself has no end
/// In a line that begins a here-document: what stands in it is run, here or later.
constexpr std::array<std::string_view, 6> kRuns{"bash", "batch", "srun", "ssh", ".sh", ".slurm"};

bool is_name_letter(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

class Lexer {
 public:
  Lexer(PlacedText text, const std::string& name, ShellVariables variables, int nested = 0)
      : text_(std::move(text)), name_(name), nested_(nested), variables_(std::move(variables)) {}

  ShellScript script() {
    while (more()) step();
    end_command();
    ShellScript out;
    for (Word& word : out_) {
      const bool doubled = word.ends_command && (out.words.empty() || out.words.back().ends_command);
      if (!word.dead && !doubled) out.words.push_back(std::move(word));
    }
    out.replaced = variables_.replaced();
    out.launch_blocking = blocking_;
    out.arrays = std::move(arrays_);
    return out;
  }

 private:
  struct Word : ShellWord {
    bool dead = false;      // of a branch that is not taken
    bool doubtful = false;  // out of a variable that a branch may have set
  };

  bool more() const { return pos_ < text_.letters.size(); }
  char peek(std::size_t ahead = 0) const {
    return pos_ + ahead < text_.letters.size() ? text_.letters[pos_ + ahead] : '\0';
  }
  char next() { return text_.letters[pos_++]; }
  /// Of the letter that comes; behind the last one, of that.
  Place place() const {
    if (text_.places.empty()) return {};
    return text_.places[std::min(pos_, text_.places.size() - 1)];
  }
  base::Where where(Place place) const { return {name_, place.line, place.column}; }
  void keep() {
    const Place at = place();
    word_.add(next(), at);
  }

  void step() {
    const char c = peek();
    if (c == '\\' && (peek(1) == '\n' || (peek(1) == '\r' && peek(2) == '\n'))) {
      end_word();
      while (next() != '\n') {
      }
    } else if (c == '#' && !in_word_) {
      while (more() && peek() != '\n') next();
    } else if (c == '<' || c == '>' || (c == '&' && peek(1) == '>')) {
      redirection();
    } else if (c == '\n' || c == ';' || c == '&' || c == '|') {
      const bool joins = (c == '&' || c == '|') && peek(1) == c;
      next();
      end_word();
      if (joins) next();
      if (joins && between_brackets()) return out_.push_back({{std::string(2, c), where(place())}, branches_.dead()});
      if (depth_ == 0) {
        if (asks_) asked(joins || c == '|' ? c : ';', joins);
        if (joins) {
          go_on(c == '&');
        } else if (c == '|') {
          list_.simple = false;
        } else if (c != '\n' || !continues_) {
          list_ = {};
        }
        end_command();
      }
      if (c == '\n') documents();
    } else if (std::isspace(static_cast<unsigned char>(c))) {
      next();
      end_word();
    } else if (c == '(' || c == ')') {
      parenthesis(next());
    } else {
      begin_word(place());
      piece();
    }
  }

  /// "2>&1", "&> log": neither the number nor the file is a word of the command.
  void redirection() {
    const bool number = in_word_ && word_.letters.find_first_not_of("0123456789") == std::string::npos;
    if (number) in_word_ = false;
    end_word();
    std::string sign;
    while (more() && std::string_view("<>&|").find(peek()) != std::string_view::npos) sign += next();
    redirects_ = peek() != '(';
    begins_document_ = sign == "<<";
    if (begins_document_ && peek() == '-') next();
  }

  /// Here-documents that the line before began. One that is no script is data.
  void documents() {
    const std::string_view line = std::string_view(text_.letters).substr(line_, pos_ - line_);
    const bool runs = std::ranges::any_of(kRuns, [&](std::string_view word) { return line.find(word) != line.npos; });
    for (const std::string& end : std::exchange(documents_, {})) {
      if (!runs) skip_document(end);
    }
    line_ = pos_;
  }

  /// NAME=( begins an array, whose words are words like others. What nothing opens ends a pattern of case.
  void parenthesis(char c) {
    if (c == '(' && in_word_ && word_.letters.ends_with('=')) {
      arrays_.insert(word_.letters.substr(0, word_.letters.find_first_of("+=")));
      in_word_ = false;
      ++depth_;
      return;
    }
    if (c == '(' && peek() == '(' && !in_word_ && begins_command()) return statement();
    list_.simple = false;
    question_.lose();
    if (c == '(' && peek() == ')' && in_word_ && !word_.letters.ends_with('$')) {
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
    if (c == '"' && word_.letters.empty() && quotes_an_array()) {
      next();
      fields(variable());  // as many words as it has
      next();
    } else if (c == '\'' || c == '"') {
      quoted(c);
    } else if (c == '$' && peek(1) == '(' && peek(2) != '(') {
      word_.add(variable());  // one word, whatever stands in it
    } else if (c == '$') {
      fields(variable());
    } else {
      if (c == '\\' && pos_ + 1 < text_.letters.size()) next();
      keep();
    }
  }

  /// "${NAME[@]}" and nothing else.
  bool quotes_an_array() const {
    std::size_t at = 3;
    if (peek(1) != '$' || peek(2) != '{') return false;
    while (is_name_letter(peek(at))) ++at;
    const std::string_view behind = "[@]}\"";
    for (std::size_t i = 0; i < behind.size(); ++i) {
      if (peek(at + i) != behind[i]) return false;
    }
    return true;
  }

  void quoted(char quote) {
    const Place begin = place();
    next();
    while (more() && peek() != quote) {
      if (quote == '"' && peek() == '$') {
        word_.add(variable());
      } else {
        const bool escaped = quote == '"' && peek() == '\\' && pos_ + 1 < text_.letters.size();
        if (escaped) next();
        if (escaped && peek() == '\n') {
          next();  // a line that goes on
        } else {
          keep();
        }
      }
    }
    if (!more()) {
      throw base::InputError({{std::string(1, quote), "opens a text that nothing closes", "close it", where(begin)}});
    }
    next();
  }

  /// What an expansion outside of quotes becomes: $ARGS is as many words as it holds, but not behind NAME=.
  void fields(const PlacedText& value) {
    if (assignment() != std::string::npos) return word_.add(value);
    for (std::size_t i = 0; i < value.letters.size(); ++i) {
      const char c = value.letters[i];
      if (std::isspace(static_cast<unsigned char>(c)) == 0 || value.places[i].whole) {
        begin_word(value.places[i]);
        if (word_.letters.empty()) begin_ = value.places[i];
        word_.add(c, value.places[i]);
      } else if (!word_.letters.empty()) {
        end_word();
      }
    }
    if (word_.letters.empty()) in_word_ = false;
  }

  /// "(...)" of a command, up to its end, which quotes, comments and here-documents do not hold.
  std::string command_in_parentheses(int deep = 0) {
    std::string out;
    std::vector<std::string> documents;
    int open = 0;
    do {
      const char c = next();
      const bool begins = out.empty() || std::isspace(static_cast<unsigned char>(out.back())) != 0;
      if (c == '#' && begins) {
        while (more() && peek() != '\n') next();
        continue;
      }
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
  std::string rest_of_quotes(char quote, int deep) {
    std::string out;
    while (more()) {
      const char c = next();
      out += c;
      if (c == quote) break;
      if (quote == '"' && c == '\\' && more()) out += next();
      if (quote == '"' && c == '$' && peek() == '(' && deep < kMostNested) out += command_in_parentheses(deep + 1);
    }
    return out;
  }
  /// The word behind "<<", without quotes.
  std::string document_end() {
    while (peek() == '-' || peek() == ' ') next();
    std::string out;
    while (more() && std::string_view(" \n;|&)").find(peek()) == std::string_view::npos) {
      const char c = next();
      if (c != '\'' && c != '"') out += c;
    }
    return out;
  }
  void skip_document(const std::string& end) {
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

  /// ((NAME = ...)), a command.
  void statement() {
    const Place begin = place();
    std::string inside;
    for (int open = 1; more() && open > 0;) {
      const char c = next();
      open += c == '(' ? 1 : c == ')' ? -1 : 0;
      if (open > 0) inside += c;
    }
    question_.lose();
    if (inside.size() > 2) compute(inside.substr(1, inside.size() - 2), begin);
  }

  /// NAME = ..., NAME += ..., NAME++: the variable's value is known, or it is one no more.
  void compute(const std::string& text, Place at) {
    const auto first = std::find_if(text.begin(), text.end(), is_name_letter);
    const auto last = std::find_if_not(first, text.end(), is_name_letter);
    const std::string name(first, last);
    std::string rest(last, text.end());
    rest.erase(0, rest.find_first_not_of(' '));
    const bool steps = rest.starts_with("++") || rest.starts_with("--");
    const bool with =
        !steps && rest.size() > 1 && rest[1] == '=' && std::string_view("+-*/%").find(rest[0]) != rest.npos;
    const bool sets = rest.starts_with('=') && !rest.starts_with("==");
    if (name.empty() || branches_.dead() || (!steps && !with && !sets)) return;
    const std::string becomes = steps  ? name + rest[0] + '1'
                                : with ? name + rest[0] + '(' + rest.substr(2) + ')'
                                       : rest.substr(1);
    const std::optional<std::int64_t> value = shell_arithmetic(becomes, [&](const auto& of) { return known(of, at); });
    variables_.assign(name, at_one(value ? std::to_string(*value) : "$((" + text + "))", at), false,
                      branches_.conditional(), at);
  }

  /// A variable's text in arithmetic.
  std::optional<std::string> known(const std::string& name, Place& begin) {
    const PlacedText* set = variables_.find(name);
    if (set) begin.conditional |= set->conditional();
    if (set) return set->letters;
    const std::string* given = variables_.given(name);
    return given ? std::optional(*given) : std::nullopt;
  }

  /// The value of $((...)) where all that it names is known; otherwise it stays as it is.
  PlacedText arithmetic(Place begin) {
    std::string as_written = "$";
    int open = 0;
    do {
      open += peek() == '(' ? 1 : peek() == ')' ? -1 : 0;
      as_written += next();
    } while (open > 0 && more());
    if (!as_written.ends_with("))")) return at_one(as_written, begin);
    const std::string_view inside = std::string_view(as_written).substr(3, as_written.size() - 5);
    const std::optional<std::int64_t> value =
        shell_arithmetic(inside, [&](const std::string& name) { return known(name, begin); });
    if (value) return at_one(std::to_string(*value), begin);
    std::erase_if(as_written, [](unsigned char c) { return std::isspace(c) != 0; });  // one word it stays
    return at_one(as_written, begin);
  }

  /// The value of $NAME, ${NAME}, ${NAME:-otherwise}, ${NAME:=otherwise}, ${NAME:?words}, the same without the colon,
  /// and $((...)); anything else stays as it is.
  PlacedText variable() {
    const Place begin = place();
    std::string as_written(1, next());
    if (peek() == '(' && peek(1) == '(') return arithmetic(begin);
    if (peek() == '(') return at_one('$' + command_in_parentheses(), {begin.line, begin.column, false, true});
    std::string name, otherwise;
    bool has_otherwise = false;   // ${NAME-otherwise}
    bool instead = false;         // ${NAME+otherwise}, where it has a value
    bool unset_if_empty = false;  // ${NAME:-otherwise}, not ${NAME-otherwise}
    const bool braced = peek() == '{';
    if (braced) {
      as_written += next();
      for (int open = 1; more() && open > 0;) {
        open += peek() == '{' ? 1 : peek() == '}' ? -1 : 0;
        as_written += next();
      }
      name = as_written.substr(2, as_written.size() - 3);
      const auto end = std::find_if_not(name.begin(), name.end(), is_name_letter);
      std::string_view rest = std::string_view(name).substr(static_cast<std::size_t>(end - name.begin()));
      unset_if_empty = rest.starts_with(':');
      if (unset_if_empty) rest.remove_prefix(1);
      instead = rest.starts_with('+');
      has_otherwise = instead || rest.starts_with('-') || rest.starts_with('=');
      if (has_otherwise) otherwise = rest.substr(1);
      if (has_otherwise || rest.starts_with('?') || rest == "[@]" || rest == "[*]") name.erase(end, name.end());
    } else {
      if (std::isdigit(static_cast<unsigned char>(peek())) != 0) {
        as_written += next();  // $10 is $1 and a 0
      } else {
        while (is_name_letter(peek())) as_written += next();
      }
      name = as_written.substr(1);
    }
    if (otherwise.size() > 1 && (otherwise[0] == '"' || otherwise[0] == '\'') && otherwise.back() == otherwise[0])
      otherwise = otherwise.substr(1, otherwise.size() - 2);
    const PlacedText* known = variables_.find(name);
    const std::string* given = known ? nullptr : variables_.given(name);
    const bool there = known || given;
    const bool empty = there && (known ? known->letters : *given).empty();
    if (instead && there) {
      if (unset_if_empty && empty) return {};
      return expanded(otherwise, {begin.line, begin.column, known && known->conditional()});
    }
    if (there && !(unset_if_empty && empty && has_otherwise)) return known ? *known : at_one(*given, begin);
    if (has_otherwise && !instead) return expanded(otherwise, begin);
    if (!there && never_set_.contains(name)) return {};
    return at_one(as_written, begin);
  }

  /// The text in place of a variable, as it stands between quotes.
  PlacedText expanded(const std::string& text, Place at) {
    if (text.find('$') == text.npos || text.find('"') != text.npos || nested_ >= kMostNested) return at_one(text, at);
    const ShellScript read = Lexer(at_one('"' + text + '"', at), name_, variables_, nested_ + 1).script();
    if (read.words.empty()) return {};
    at.conditional |= read.words.front().conditional;
    return at_one(read.words.front().text, at);
  }

  void begin_word(Place at) {
    if (in_word_) return;
    in_word_ = true;
    continues_ = false;
    word_ = {};
    begin_ = at;
  }
  void end_word() {
    if (!in_word_) return;
    in_word_ = false;
    if (std::exchange(redirects_, false)) {
      if (std::exchange(begins_document_, false)) documents_.push_back(word_.letters);
      return;
    }
    const std::size_t equals = assignment();
    if (equals != std::string::npos && begins_command()) {
      if (branches_.dead()) never_set_.insert(word_.letters.substr(0, word_.letters.find_first_of("+=")));
      if (!branches_.dead()) assign(equals);
    } else if (evaluates_) {
      evaluated_.add(word_);
      evaluated_.add(' ', begin_);
    } else if (holds_words()) {
      put(Lexer(word_, name_, variables_, nested_ + 1).script(), word_.conditional());
    } else {
      const bool begins = begins_command();
      if (begins) branch();
      if (begins && word_.letters == "unset") unsets_ = true;
      if (!begins && !out_.empty() && lets()) compute(word_.letters, begin_);
      if (!out_.empty() && makes_arrays()) arrays_.insert(word_.letters);  // one that holds nothing yet
      if (!begins && unsets_ && !branches_.dead() && !branches_.conditional()) variables_.erase(word_.letters);
      if (word_.letters.starts_with("--") && !branches_.dead()) note_blocking();
      evaluates_ = begins && word_.letters == "eval" && nested_ < kMostNested;
      if (!out_.empty() && out_.back().text == "for") variables_.erase(word_.letters);  // another one in each round
      out_.push_back({{word_.letters, where(begin_), false, branches_.conditional() || word_.conditional()},
                      branches_.dead(),
                      word_.conditional()});
    }
  }

  void put(ShellScript script, bool conditional) {
    if (script.launch_blocking) blocking_ = script.launch_blocking;
    arrays_.insert(script.arrays.begin(), script.arrays.end());
    for (ShellWord& word : script.words) {
      word.conditional |= conditional || branches_.conditional();
      if (!word.ends_command || evaluates_) out_.push_back({std::move(word), branches_.dead()});
    }
  }

  void assign(std::size_t equals) {
    const bool adds = word_.letters[equals - 1] == '+', listed = list_.simple;
    const std::string name = word_.letters.substr(0, equals - (adds ? 1 : 0));
    PlacedText value = word_.from(equals + 1);
    assigns_ = value.letters.find_first_of("$`") == std::string::npos;
    if (listed && list_.next == Runs::never) return;
    const bool declared = std::any_of(command_begin(), out_.cend(), [](auto& w) { return among(kDeclare, w.text); });
    if (!declared && !before_) before_ = variables_;
    variables_.assign(name, std::move(value), adds, branches_.conditional() || (listed && list_.next == Runs::perhaps),
                      begin_);
  }

  /// The command that has ended is one of those that an if asks.
  void asked(char join, bool joins) {
    std::vector<std::string> words;
    bool no = false;
    for (auto word = command_begin(); word != out_.end(); ++word) {
      const bool leads = words.empty() && (word->text == "!" || among(kIfs, word->text));
      no ^= leads && word->text == "!";
      if (!leads) words.push_back(word->doubtful ? "$" : word->text);
    }
    if (words.empty()) return;
    const std::optional<bool> truth = shell_condition(words);
    question_.answer(truth && no ? std::optional(!*truth) : truth, joins ? join : ';');
    if (!joins && join == '|') question_.lose();
  }
  /// Within "[[" words like "&&" are its own.
  bool between_brackets() const {
    const auto opens = std::find_if(command_begin(), out_.cend(), [](auto& word) { return word.text == "[["; });
    return opens != out_.cend() && std::none_of(opens, out_.cend(), [](auto& word) { return word.text == "]]"; });
  }
  bool makes_arrays() const {
    const auto first = command_begin();
    return first != out_.end() && first->text != "export" && among(kDeclare, first->text);
  }
  bool lets() const {
    const auto first = command_begin();
    return first != out_.end() && first->text == "let";
  }
  /// As an option of the launch finds it.
  void note_blocking() {
    blocking_.reset();
    const PlacedText* value = variables_.find("CUDA_LAUNCH_BLOCKING");
    if (!value || value->places.empty()) return;
    blocking_ = ShellWord{value->letters, where(value->places.front()), false, value->conditional()};
  }
  void branch() {
    const std::string& word = word_.letters;
    if (among(kIfs, word)) {
      asks_ = true;
      question_ = {};
    }
    if (word == "then" || word == "do") asks_ = false;
    if (word == "for" || word == "while" || word == "until") ++loops_;
    if (word == "done") --loops_;
    if (word == "if") branches_.begin_if();
    if (word == "case") branches_.begin_case();
    if (word == "then") branches_.then(question_.truth());
    if (word == "elif") branches_.ask_again();
    if (word == "else") branches_.otherwise();
    if (word == "fi" || word == "esac") branches_.end();
  }
  /// One word for this shell that is several to who reads it: a command behind -c, "--option value" in an array that is
  /// expanded without quotes.
  bool holds_words() const {
    const std::string& letters = word_.letters;
    if (letters.find(' ') == std::string::npos || nested_ >= kMostNested) return false;
    const bool command = !out_.empty() && (out_.back().text == "-c" || out_.back().text == "-lc");
    return command || (depth_ > 0 && letters.starts_with("--") && letters.find('=') > letters.find(' '));
  }
  std::vector<Word>::const_iterator command_begin() const {
    return std::find_if(out_.rbegin(), out_.rend(), [](const Word& word) { return word.ends_command; }).base();
  }
  /// "&&" (`both`) or "||" behind a command: what comes of a list is known where it holds questions and assignments
  /// alone, outside of loops and of what an if asks. All else is read as if it ran.
  void go_on(bool both) {
    const auto first = command_begin();
    std::vector<std::string> words;
    for (auto word = first; word != out_.end(); ++word) words.push_back(word->conditional ? "$" : word->text);
    const bool asks = first != out_.end() && among(kAsks, first->text);
    const bool assigns = assigns_ && std::ranges::all_of(words, [](auto& word) { return among(kDeclare, word); });
    list_.simple = list_.simple && !asks_ && loops_ <= 0 && (asks || assigns);
    const std::optional<bool> own = asks ? shell_condition(words) : true;
    if (list_.next != Runs::never) list_.status = list_.next == Runs::surely ? own : std::nullopt;
    list_.next = !list_.status ? Runs::perhaps : *list_.status == both ? Runs::surely : Runs::never;
    continues_ = true;
  }
  /// NAME=value in front of a program is that program's alone.
  void forget_programs_own() {
    const bool program = std::any_of(command_begin(), out_.cend(), [](auto& word) {
      return !word.ends_command && !among(kBefore, word.text) && !word.text.starts_with('-');
    });
    if (before_ && program) variables_ = *std::move(before_);
    before_.reset();
  }
  void end_command() {
    end_word();
    forget_programs_own();
    redirects_ = false;
    assigns_ = unsets_ = false;
    if (evaluates_) put(Lexer(std::exchange(evaluated_, {}), name_, variables_, nested_ + 1).script(), false);
    evaluates_ = false;
    if (!out_.empty() && !out_.back().ends_command) out_.push_back({{"", where(place()), true}});
  }
  /// Whether nothing but what takes variables stands in front: NAME=value behind a program is its argument, and a word
  /// of an array.
  bool begins_command() const {
    if (depth_ > 0) return false;
    bool declares = false;  // names without a value may stand between
    for (auto word = command_begin(); word != out_.end(); ++word) {
      declares |= among(kDeclare, word->text);
      if (!declares && !among(kBefore, word->text) && !word->text.starts_with('-')) return false;
    }
    return true;
  }
  /// Where the "=" of NAME=value is.
  std::size_t assignment() const {
    const std::size_t equals = word_.letters.find('=');
    if (equals == 0 || equals == std::string::npos) return std::string::npos;
    for (std::size_t i = 0; i < equals; ++i) {
      const bool adds = i > 0 && i + 1 == equals && word_.letters[i] == '+';
      if (!adds && !is_name_letter(word_.letters[i])) return std::string::npos;
    }
    return equals;
  }

  enum class Runs { surely, perhaps, never };
  /// Of commands between "&&" and "||".
  struct List {
    bool simple = true;
    std::optional<bool> status = {};  // of those that have ended
    Runs next = Runs::surely;         // the one that is read
  };

  PlacedText text_;
  const std::string& name_;
  int nested_ = 0;  // texts that are commands, around this one
  std::size_t pos_ = 0;
  int depth_ = 0;  // of arrays
  int open_ = 0;   // parentheses of others
  ShellBranches branches_;
  List list_;
  bool continues_ = false;  // behind "&&" or "||", before the next word
  bool assigns_ = false;    // the command gives variables a text without a question
  bool unsets_ = false;     // it is unset
  bool asks_ = false;       // between if, elif, while, until and then or do
  ShellQuestion question_;
  std::set<std::string> arrays_;
  std::set<std::string> never_set_;  // but in branches that are not taken
  int loops_ = 0;
  std::optional<ShellWord> blocking_;  // CUDA_LAUNCH_BLOCKING at the last option
  bool in_word_ = false;
  bool redirects_ = false;  // the next word is where to or from
  bool begins_document_ = false;
  bool evaluates_ = false;              // the command is eval
  PlacedText evaluated_;                // by it
  std::size_t line_ = 0;                // where it begins
  std::vector<std::string> documents_;  // what ends those that this line begins
  PlacedText word_;
  Place begin_;  // of the word
  ShellVariables variables_;
  std::optional<ShellVariables> before_;  // this command gave them values
  std::vector<Word> out_;
};

}  // namespace

ShellScript shell_script(std::string_view text, const std::string& name, GivenVariables* given) {
  if (given != nullptr) given->asked = true;
  ShellVariables variables(given);
  std::optional<ShellWord> nodes = nodes_of_header(text, name);
  for (const char* of_slurm : {"SLURM_NNODES", "SLURM_JOB_NUM_NODES"}) {
    if (nodes && !(given != nullptr && given->values.contains(of_slurm)))
      variables.assign(of_slurm, at_one(nodes->text, {nodes->where.line, nodes->where.column}), false, false, {});
  }
  ShellScript out = Lexer(in_file(text), name, std::move(variables)).script();
  out.nodes = std::move(nodes);
  return out;
}

bool is_arguments(const std::string& word) {
  return word == "$@" || word == "$*" || word.starts_with("${@") || word.starts_with("${*");
}

bool may_hold_words(const std::string& word, const ShellScript& script) {
  if (word.size() < 2 || (word[0] != '$' && word[0] != '`') || is_arguments(word)) return false;
  const bool name = std::all_of(word.begin() + 1, word.end(), is_name_letter);
  const bool whole = name || word[0] == '`' || (word[1] == '{' && word.find('}') == word.size() - 1) ||
                     (word[1] == '(' && word.back() == ')') || word.find(":+") != word.npos;
  const std::size_t end = word.find('[');
  const bool all = end != word.npos && (word.substr(end) == "[@]}" || word.substr(end) == "[*]}");
  return whole && !(all && script.arrays.contains(word.substr(2, end - 2)));
}

std::vector<ShellWord> shell_words(std::string_view text, const std::string& name, GivenVariables* given) {
  return shell_script(text, name, given).words;
}

}  // namespace config::launch
