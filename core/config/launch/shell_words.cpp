// SPDX-License-Identifier: Apache-2.0
#include "core/config/launch/shell_words.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <iterator>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "core/config/launch/shell_branches.h"
#include "core/config/launch/shell_condition.h"
#include "core/config/launch/shell_expansion.h"
#include "core/config/launch/shell_header.h"
#include "core/config/launch/shell_scanner.h"
#include "core/config/launch/shell_text.h"
#include "core/config/launch/shell_variables.h"

namespace config::launch {
namespace {

constexpr std::array<std::string_view, 5> kDeclare{"export", "declare", "typeset", "local", "readonly"};
/// What a command stands behind.
constexpr std::array<std::string_view, 10> kBefore{"env",   "if",    "then", "else", "elif",
                                                   "while", "until", "do",   "{",    "!"};
/// What is followed by a question.
constexpr std::array<std::string_view, 4> kIfs{"if", "elif", "while", "until"};
/// In a line that begins a here-document: what stands in it is run, here or later.
constexpr std::array<std::string_view, 6> kRuns{"bash", "batch", "srun", "ssh", ".sh", ".slurm"};

bool among(const auto& names, std::string_view word) { return std::ranges::find(names, word) != names.end(); }

/// Where the "=" of NAME=value is, or NAME+=value.
std::size_t assignment_in(std::string_view word) {
  const std::size_t equals = word.find('=');
  if (equals == 0 || equals == word.npos) return word.npos;
  const std::string_view name = word.substr(0, equals > 1 && word[equals - 1] == '+' ? equals - 1 : equals);
  return std::ranges::all_of(name, is_name_letter) ? equals : word.npos;
}

/// The name in front of "=" or "+=".
std::string name_in(const std::string& word) { return word.substr(0, word.find_first_of("+=")); }

/// Reads commands one after the other: words of the one that is read stand in command_ until it ends.
class Reader {
 public:
  Reader(PlacedText text, const std::string& name, ShellVariables variables, int nested = 0)
      : text_(std::move(text)), name_(name), nested_(nested), variables_(std::move(variables)) {}

  ShellScript script() {
    while (text_.more()) step();
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

  /// Whether what is read is of a branch or behind a question of a list that lets nothing of it run; or may.
  bool dead() const {
    return branches_.dead() || of_lists([](const ShellList& list) { return list.runs() == false; });
  }
  bool conditional() const {
    return branches_.conditional() || of_lists([](const ShellList& list) { return !list.runs(); });
  }
  bool of_lists(bool (*holds)(const ShellList&)) const {
    return std::ranges::any_of(groups_, holds) || (!asks_ && holds(list_));
  }

  base::Where where(Place place) const { return {name_, place.line, place.column}; }
  ShellExpansion expansion() const { return ShellExpansion(variables_, nested_); }
  Reader reader_of(PlacedText text) const { return Reader(std::move(text), name_, variables_, nested_ + 1); }

  void step() {
    const char c = text_.peek();
    if (c == '\\' && (text_.peek(1) == '\n' || (text_.peek(1) == '\r' && text_.peek(2) == '\n'))) {
      end_word();
      while (text_.next() != '\n') {
      }
    } else if (c == '#' && !in_word_) {
      text_.skip_line();
    } else if (c == '<' || c == '>' || (c == '&' && text_.peek(1) == '>')) {
      redirection();
    } else if (c == '\n' || c == ';' || c == '&' || c == '|') {
      separator();
    } else if (std::isspace(static_cast<unsigned char>(c))) {
      text_.next();
      end_word();
    } else if (c == '(' || c == ')') {
      parenthesis();
    } else {
      begin_word(text_.place());
      piece();
    }
  }

  /// The end of a line or a command, or "&&" and "||" between two.
  void separator() {
    const char c = text_.next();
    const bool joins = (c == '&' || c == '|') && text_.peek() == c;
    end_word();
    if (joins) text_.next();
    if (joins && between_brackets()) return put_word(std::string(2, c), text_.place());
    if (depth_ == 0) {
      answer(joins ? c : ';');
      if (c == '|' && !joins) list_.lose();
      if (joins) {
        continues_ = true;
      } else if (c != '|' && !asks_ && !(c == '\n' && continues_)) {
        list_ = {};
      }
      end_command();
    }
    if (c == '\n') documents();
  }

  /// "2>&1", "&> log": neither the number nor the file is a word of the command.
  void redirection() {
    const bool number = in_word_ && word_.letters.find_first_not_of("0123456789") == std::string::npos;
    if (number) in_word_ = false;
    end_word();
    std::string sign;
    while (text_.more() && std::string_view("<>&|").find(text_.peek()) != std::string_view::npos) sign += text_.next();
    redirects_ = text_.peek() != '(';
    begins_document_ = sign == "<<";
    if (begins_document_ && text_.peek() == '-') text_.next();
  }

  /// Here-documents that the line before began. One that is no script is data.
  void documents() {
    const std::string_view line = text_.since(line_);
    const bool runs = std::ranges::any_of(kRuns, [&](std::string_view word) { return line.find(word) != line.npos; });
    for (const std::string& end : std::exchange(documents_, {})) {
      if (!runs) text_.skip_document(end);
    }
    line_ = text_.at();
  }

  /// NAME=( begins an array, whose words are words like others. What nothing opens ends a pattern of case.
  void parenthesis() {
    const char c = text_.peek();
    if (c == '(' && in_word_ && word_.letters.ends_with('=')) {
      text_.next();
      arrays_.insert(name_in(word_.letters));
      in_word_ = false;
      ++depth_;
      return;
    }
    if (c == '(' && text_.peek(1) == '(' && !in_word_ && begins_command()) return statement();
    text_.next();
    if (c == ')' && open_ == 0 && depth_ > 0) return end_array();
    list_.lose();
    if (c == '(' && text_.peek() == ')' && in_word_ && !word_.letters.ends_with('$')) {
      text_.next();  // the name of a function
      in_word_ = false;
      return;
    }
    end_word();
    if (c == '(') {
      ++open_;
    } else if (open_ > 0) {
      --open_;
    } else {
      command_.clear();
    }
  }
  void end_array() {
    end_word();
    --depth_;
    end_command();
    assigns_ = true;
  }

  void piece() {
    const char c = text_.peek();
    if (c == '"' && word_.letters.empty() && quotes_an_array()) {
      text_.next();
      fields(expansion().variable(text_));  // as many words as it has
      text_.next();
    } else if (c == '\'' || c == '"') {
      quoted(c);
    } else if (c == '$' && text_.peek(1) == '(' && text_.peek(2) != '(') {
      word_.add(expansion().variable(text_));  // one word, whatever stands in it
    } else if (c == '$') {
      fields(expansion().variable(text_));
    } else {
      if (c == '\\' && text_.more(1)) text_.next();
      const Place at = text_.place();
      word_.add(text_.next(), at);
    }
  }

  /// "${NAME[@]}" and nothing else.
  bool quotes_an_array() const {
    if (text_.peek(1) != '$' || text_.peek(2) != '{') return false;
    std::size_t at = 3;
    while (is_name_letter(text_.peek(at))) ++at;
    return std::ranges::all_of(std::string_view("[@]}\""), [&](char c) { return text_.peek(at++) == c; });
  }

  void quoted(char quote) {
    const Place begin = text_.place();
    text_.next();
    word_.add(expansion().quoted(text_, quote));
    if (!text_.more()) {
      throw base::InputError({{std::string(1, quote), "opens a text that nothing closes", "close it", where(begin)}});
    }
    text_.next();
  }

  /// What an expansion outside of quotes becomes: $ARGS is as many words as it holds, but not behind NAME=.
  void fields(const PlacedText& value) {
    if (assignment_in(word_.letters) != std::string::npos) return word_.add(value);
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

  /// ((NAME = ...)), a command.
  void statement() {
    const Place begin = text_.place();
    const std::string written = text_.brackets('(', ')');
    if (written.ends_with("))")) compute(written.substr(2, written.size() - 4), begin);
    list_.lose();
  }

  /// NAME = ..., NAME += ..., NAME++: the variable's value is known, or it is one no more.
  void compute(const std::string& text, Place at) {
    const auto first = std::ranges::find_if(text, is_name_letter);
    const auto last = std::find_if_not(first, text.end(), is_name_letter);
    const std::string name(first, last);
    std::string rest(last, text.end());
    rest.erase(0, rest.find_first_not_of(' '));
    const bool steps = rest.starts_with("++") || rest.starts_with("--");
    const bool with =
        !steps && rest.size() > 1 && rest[1] == '=' && std::string_view("+-*/%").find(rest[0]) != rest.npos;
    const bool sets = rest.starts_with('=') && !rest.starts_with("==");
    if (name.empty() || dead() || (!steps && !with && !sets)) return;
    const std::string becomes = steps  ? name + rest[0] + '1'
                                : with ? name + rest[0] + '(' + rest.substr(2) + ')'
                                       : rest.substr(1);
    const std::optional<std::int64_t> value = expansion().computed(becomes, at);
    variables_.assign(name, at_one(value ? std::to_string(*value) : "$((" + text + "))", at), false, conditional(), at);
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
    const bool begins = begins_command();
    const std::size_t equals = assignment_in(word_.letters);
    if (equals != std::string::npos && begins) {
      assign(equals);
    } else if (evaluates_) {
      evaluated_.add(word_);
      evaluated_.add(' ', begin_);
    } else if (holds_words()) {
      put(reader_of(word_).script(), command_, word_.conditional());
    } else {
      if (begins) begin_program();
      if (!begins && !dead()) take_operand();
      if (among(kDeclare, program()) && program() != "export") arrays_.insert(word_.letters);  // it holds nothing yet
      if (word_.letters.starts_with("--") && !dead()) note_blocking();
      if (!dead() && !command_.empty() && command_.back().text == "for")
        variables_.lose(word_.letters);  // set in each round
      put_word(word_.letters, begin_);
      command_.back().conditional |= word_.conditional();
      command_.back().doubtful = word_.conditional();
    }
  }
  void put_word(std::string text, Place at) {
    command_.push_back({{std::move(text), where(at), false, conditional()}, dead()});
  }

  /// The word is one of the shell's own, or a program.
  void begin_program() {
    const std::string& word = word_.letters;
    evaluates_ = word == "eval" && nested_ < kMostNested;
    if (among(kIfs, word)) {
      asks_ = true;
      list_ = {};
    }
    if (word == "{") groups_.push_back(std::exchange(list_, {}));
    if (word == "}" && !groups_.empty()) {
      list_ = groups_.back();
      groups_.pop_back();
    }
    if (word == "for" || word == "while" || word == "until" || word == "select") ++loops_;
    if (word == "done") --loops_;
    if (word == "if") branches_.begin_if();
    if (word == "case") branches_.begin_case();
    if (word == "then") branches_.then(list_.truth());
    if (word == "elif") branches_.ask_again();
    if (word == "else") branches_.otherwise();
    if (word == "fi" || word == "esac") branches_.end();
    if (word == "then" || word == "do") {
      asks_ = false;
      list_ = {};
    }
  }
  /// The word stands behind a program, which may set variables.
  void take_operand() {
    if (program() == "let") compute(word_.letters, begin_);
    if (program() == "unset" && !conditional()) variables_.erase(word_.letters);
  }

  /// Words of a text that is a script itself.
  void put(ShellScript script, std::vector<Word>& into, bool doubtful) {
    if (script.launch_blocking) blocking_ = script.launch_blocking;
    arrays_.insert(script.arrays.begin(), script.arrays.end());
    for (ShellWord& word : script.words) {
      word.conditional |= doubtful || conditional();
      if (!word.ends_command || &into == &out_) into.push_back({std::move(word), dead()});
    }
  }

  void assign(std::size_t equals) {
    const bool adds = word_.letters[equals - 1] == '+';
    const std::string name = name_in(word_.letters);
    PlacedText value = word_.from(equals + 1);
    assigns_ = assigns_.value_or(true) && value.letters.find_first_of("$`") == std::string::npos;
    if (dead()) return variables_.leave_empty(name);
    const bool declared = std::ranges::any_of(command_, [](const Word& word) { return among(kDeclare, word.text); });
    if (!declared && !before_) before_ = variables_;
    variables_.assign(name, std::move(value), adds, conditional(), begin_);
  }

  /// What has ended is one of the commands that an if asks, or of a list. Of a list, what comes is known where it holds
  /// questions and assignments alone, outside of loops; all else is read as if it ran.
  void answer(char join) {
    std::vector<std::string> words;
    bool no = false;
    for (const Word& word : command_) {
      const bool leads = words.empty() && among(kBefore, word.text);
      no ^= leads && word.text == "!";
      if (!leads) words.push_back(word.doubtful ? "$" : word.text);
    }
    if (words.empty() && !assigns_) return;
    const bool assigns =
        assigns_ == true && std::ranges::all_of(words, [](const std::string& word) { return among(kDeclare, word); });
    const bool group = words.size() == 1 && words[0] == "}";  // taken to have succeeded
    const std::optional<bool> truth = assigns || group ? true : shell_condition(words);
    const bool skipped = list_.runs() == false;
    list_.add(truth && no ? std::optional(!*truth) : truth, join);
    const bool known = assigns || group || asks_for_truth(words) || skipped;  // nothing comes of what is not run
    if (!asks_ && (loops_ > 0 || !known)) list_.lose();
  }
  /// Within "[[" words like "&&" are its own.
  bool between_brackets() const {
    const auto opens = std::ranges::find(command_, "[[", &Word::text);
    return opens != command_.end() && std::ranges::find(opens, command_.end(), "]]", &Word::text) == command_.end();
  }
  /// As an option of the launch finds it.
  void note_blocking() {
    blocking_.reset();
    const PlacedText* value = variables_.find("CUDA_LAUNCH_BLOCKING");
    if (!value || value->places.empty()) return;
    blocking_ = ShellWord{value->letters, where(value->places.front()), false, value->conditional()};
  }
  /// One word for this shell that is several to who reads it: a command behind -c, "--option value" in an array that is
  /// expanded without quotes.
  bool holds_words() const {
    const std::string& letters = word_.letters;
    if (letters.find(' ') == std::string::npos || nested_ >= kMostNested) return false;
    const bool command = !command_.empty() && (command_.back().text == "-c" || command_.back().text == "-lc");
    return command || (depth_ > 0 && letters.starts_with("--") && letters.find('=') > letters.find(' '));
  }
  /// NAME=value in front of a program is that program's alone.
  void forget_programs_own() {
    const bool program = std::ranges::any_of(command_, is_program);
    if (before_ && program) variables_ = *std::move(before_);
    before_.reset();
  }
  void end_command() {
    end_word();
    forget_programs_own();
    redirects_ = false;
    assigns_.reset();
    std::ranges::move(command_, std::back_inserter(out_));
    command_.clear();
    if (evaluates_) put(reader_of(std::exchange(evaluated_, {})).script(), out_, false);
    evaluates_ = false;
    if (!out_.empty() && !out_.back().ends_command) out_.push_back({{"", where(text_.place()), true}});
  }

  static bool is_program(const Word& word) { return !among(kBefore, word.text) && !word.text.starts_with('-'); }
  /// What the command runs, once that is read.
  std::string_view program() const {
    const auto first = std::ranges::find_if(command_, is_program);
    return first == command_.end() ? std::string_view() : first->text;
  }
  /// Whether nothing but what takes variables stands in front: NAME=value behind a program is its argument, and a word
  /// of an array.
  bool begins_command() const {
    if (depth_ > 0) return false;
    bool declares = false;  // names without a value may stand between
    return std::ranges::all_of(command_, [&](const Word& word) {
      declares |= among(kDeclare, word.text);
      return declares || !is_program(word);
    });
  }

  ShellScanner text_;
  const std::string& name_;
  int nested_ = 0;  // texts that are commands, around this one
  ShellVariables variables_;
  std::vector<Word> out_;
  std::optional<ShellWord> blocking_;  // CUDA_LAUNCH_BLOCKING at the last option
  std::set<std::string> arrays_;

  int depth_ = 0;  // of arrays
  int open_ = 0;   // parentheses of others
  int loops_ = 0;
  ShellBranches branches_;
  ShellList list_;
  std::vector<ShellList> groups_;       // around "{ ... }"
  bool asks_ = false;                   // between if, elif, while, until and then or do
  bool continues_ = false;              // behind "&&" or "||", before the next word
  std::size_t line_ = 0;                // where it begins
  std::vector<std::string> documents_;  // what ends those that this line begins

  std::vector<Word> command_;             // as far as it is read
  std::optional<bool> assigns_;           // it gives variables values, all of them texts without a question
  std::optional<ShellVariables> before_;  // it gave them values
  bool evaluates_ = false;                // it is eval
  PlacedText evaluated_;                  // by it

  bool in_word_ = false;
  PlacedText word_;
  Place begin_;             // of the word
  bool redirects_ = false;  // it is where to or from
  bool begins_document_ = false;
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
  ShellScript out = Reader(in_file(text), name, std::move(variables)).script();
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
