// SPDX-License-Identifier: Apache-2.0
#include "core/config/launch/shell_condition.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>
#include <utility>

#include "core/base/number.h"

namespace config::launch {
namespace {

std::optional<bool> compared(const std::string& a, std::string_view by, const std::string& b) {
  if (by == "=" || by == "==" || by == "!=") {
    if (b.find_first_of("*?[") != b.npos) return std::nullopt;  // a pattern between [[ ]]
    return (a == b) == (by != "!=");
  }
  const auto x = base::number_in<std::int64_t>(a), y = base::number_in<std::int64_t>(b);
  if (!x || !y) return std::nullopt;
  if (by == "-eq") return *x == *y;
  if (by == "-ne") return *x != *y;
  if (by == "-lt") return *x < *y;
  if (by == "-le") return *x <= *y;
  if (by == "-gt") return *x > *y;
  if (by == "-ge") return *x >= *y;
  return std::nullopt;
}

bool is_known(const std::string& word) { return word.find_first_of("$`") == std::string::npos; }

/// Of two truths, where what is known decides.
std::optional<bool> both(std::optional<bool> a, std::optional<bool> b) {
  if (a == false || b == false) return false;
  return a && b ? std::optional(true) : std::nullopt;
}

std::optional<bool> either(std::optional<bool> a, std::optional<bool> b) {
  if (a == true || b == true) return true;
  return a && b ? std::optional(false) : std::nullopt;
}

/// What stands between brackets: questions of one to three words, "!", and "&&", "||", -a and -o between them.
class Condition {
 public:
  Condition(std::vector<std::string> words, bool doubled) : words_(std::move(words)), doubled_(doubled) {}

  std::optional<bool> truth() {
    if (words_.empty()) return std::nullopt;
    const std::optional<bool> out = any();
    return at_ == words_.size() ? out : std::nullopt;
  }

 private:
  bool next_is(std::string_view doubled, std::string_view single) const {
    return at_ < words_.size() && words_[at_] == (doubled_ ? doubled : single);
  }
  bool ends() const { return at_ >= words_.size() || next_is("&&", "-a") || next_is("||", "-o"); }

  std::optional<bool> any() {
    std::optional<bool> out = all();
    for (; next_is("||", "-o"); out = either(out, all())) ++at_;
    return out;
  }
  std::optional<bool> all() {
    std::optional<bool> out = one();
    for (; next_is("&&", "-a"); out = both(out, one())) ++at_;
    return out;
  }
  std::optional<bool> one() {
    if (at_ < words_.size() && words_[at_] == "!") {
      ++at_;
      const std::optional<bool> out = one();
      return out ? std::optional(!*out) : std::nullopt;
    }
    std::vector<std::string> w;
    while (!ends()) w.push_back(words_[at_++]);
    if (w.empty() || !std::ranges::all_of(w, is_known)) return std::nullopt;
    const bool of_length = w[0] == "-z" || w[0] == "-n";
    if (w.size() == 1 && of_length && !doubled_) return true;  // a text, of $A that is empty
    if (w.size() == 1) return w[0].starts_with('-') ? std::nullopt : std::optional(!w[0].empty());
    if (w.size() == 2 && of_length) return w[1].empty() == (w[0] == "-z");
    return w.size() == 3 ? compared(w[0], w[1], w[2]) : std::nullopt;
  }

  std::vector<std::string> words_;
  bool doubled_;
  std::size_t at_ = 0;
};

}  // namespace

bool asks_for_truth(const std::vector<std::string>& words) {
  constexpr std::array<std::string_view, 5> kAsks{"[", "[[", "test", "true", "false"};
  return !words.empty() && std::ranges::find(kAsks, words[0]) != kAsks.end();
}

std::optional<bool> shell_condition(const std::vector<std::string>& words) {
  if (words.empty()) return std::nullopt;
  if (words.size() == 1 && (words[0] == "true" || words[0] == "false")) return words[0] == "true";
  const bool brackets = (words[0] == "[" && words.back() == "]") || (words[0] == "[[" && words.back() == "]]");
  if (!brackets && words[0] != "test") return std::nullopt;
  return Condition({words.begin() + 1, words.end() - (brackets ? 1 : 0)}, words[0] == "[[").truth();
}

void ShellList::add(std::optional<bool> truth, char join) {
  status_ = join_ == '&' ? both(status_, truth) : join_ == '|' ? either(status_, truth) : truth;
  join_ = join;
}

std::optional<bool> ShellList::runs() const {
  if (!simple_ || join_ == ';') return true;
  return status_ ? std::optional(*status_ == (join_ == '&')) : std::nullopt;
}

}  // namespace config::launch
