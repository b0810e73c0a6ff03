// SPDX-License-Identifier: Apache-2.0
#include "core/config/launch/shell_arithmetic.h"

#include <cctype>
#include <charconv>

#include "core/base/number.h"

namespace config::launch {
namespace {

constexpr int kDeepest = 64;  // parentheses

class Expression {
 public:
  using Names = std::function<std::optional<std::string>(const std::string&)>;
  Expression(std::string_view text, const Names& value_of) : text_(text), value_of_(value_of) {}

  std::optional<std::int64_t> value() {
    const std::int64_t out = sum();
    skip();
    return sound_ && pos_ == text_.size() ? std::optional(out) : std::nullopt;
  }

 private:
  void skip() {
    while (pos_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[pos_])) != 0) ++pos_;
  }
  char peek() {
    skip();
    return pos_ < text_.size() ? text_[pos_] : '\0';
  }

  std::int64_t sum() {
    std::int64_t out = product();
    while (sound_ && (peek() == '+' || peek() == '-')) {
      const bool adds = text_[pos_++] == '+';
      const std::int64_t term = product();
      sound_ &= !(adds ? __builtin_add_overflow(out, term, &out) : __builtin_sub_overflow(out, term, &out));
    }
    return out;
  }

  std::int64_t product() {
    std::int64_t out = factor();
    while (sound_ && (peek() == '*' || peek() == '/' || peek() == '%')) {
      const char sign = text_[pos_++];
      const std::int64_t by = factor();
      if (sign == '*') {
        sound_ &= !__builtin_mul_overflow(out, by, &out);
      } else if (by == 0 || by == -1) {  // -1: of the least number there is no opposite
        sound_ = false;
      } else {
        out = sign == '/' ? out / by : out % by;
      }
    }
    return out;
  }

  std::int64_t factor() {
    if (++depth_ > kDeepest) sound_ = false;
    std::int64_t out = 0;
    if (!sound_) return out;
    const char c = peek();
    if (c == '(') {
      ++pos_;
      out = sum();
      sound_ &= peek() == ')';
      ++pos_;
    } else if (std::isdigit(static_cast<unsigned char>(c)) != 0) {
      out = number();
    } else {
      out = named();
    }
    --depth_;
    return out;
  }

  std::int64_t number() {
    std::int64_t out = 0;
    const auto [end, error] = std::from_chars(text_.data() + pos_, text_.data() + text_.size(), out);
    sound_ &= error == std::errc() && !(out > 0 && text_[pos_] == '0');  // which would be octal
    pos_ = static_cast<std::size_t>(end - text_.data());
    return out;
  }

  std::int64_t named() {
    if (peek() == '$') ++pos_;
    const bool braced = pos_ < text_.size() && text_[pos_] == '{';
    if (braced) ++pos_;
    const std::size_t begin = pos_;
    while (pos_ < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[pos_])) != 0 || text_[pos_] == '_'))
      ++pos_;
    const std::string name(text_.substr(begin, pos_ - begin));
    if (braced) sound_ &= pos_ < text_.size() && text_[pos_++] == '}';
    const std::optional<std::string> found = name.empty() ? std::nullopt : value_of_(name);
    const auto out = found ? base::number_in<std::int64_t>(*found) : std::nullopt;
    sound_ &= out.has_value();
    return out.value_or(0);
  }

  std::string_view text_;
  const Names& value_of_;
  int depth_ = 0;
  std::size_t pos_ = 0;
  bool sound_ = true;
};

}  // namespace

std::optional<std::int64_t> shell_arithmetic(
    std::string_view text, const std::function<std::optional<std::string>(const std::string&)>& value_of) {
  return Expression(text, value_of).value();
}

}  // namespace config::launch
