// SPDX-License-Identifier: Apache-2.0
#include "core/config/launch/layer_pattern.h"

#include <charconv>
#include <cstdint>

namespace config::launch {
namespace {

constexpr std::size_t kMost = 10'000;  // layers, and characters of what an expression repeats

/// sum := product {'+' product};  product := list {'*' number};  list := '[' number {',' number} ']' | '(' sum ')'
class ListParser {
 public:
  explicit ListParser(std::string_view text) {
    for (const char c : text) {
      if (c != ' ') text_ += c;
    }
  }
  std::optional<std::vector<int>> whole() {
    std::vector<int> out = sum(0);
    return ok_ && at_ == text_.size() ? std::optional(out) : std::nullopt;
  }

 private:
  bool eat(char c) {
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  int number() {
    int out = 0;
    const auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), out);
    ok_ &= error == std::errc() && out >= 0;
    at_ = static_cast<std::size_t>(end - text_.data());
    return out;
  }
  std::vector<int> sum(int depth) {
    std::vector<int> out = product(depth);
    while (ok_ && eat('+')) {
      const std::vector<int> more = product(depth);
      out.insert(out.end(), more.begin(), more.end());
      ok_ &= out.size() <= kMost;
    }
    return out;
  }
  std::vector<int> product(int depth) {
    std::vector<int> out = list(depth);
    while (ok_ && eat('*')) {
      const int times = number();
      ok_ &= static_cast<std::size_t>(times) * out.size() <= kMost;
      std::vector<int> repeated;
      for (int i = 0; ok_ && i < times; ++i) repeated.insert(repeated.end(), out.begin(), out.end());
      out = std::move(repeated);
    }
    return out;
  }
  std::vector<int> list(int depth) {
    std::vector<int> out;
    if (depth < 20 && eat('(')) {
      out = sum(depth + 1);
      ok_ &= eat(')');
    } else if (eat('[')) {
      do out.push_back(number());
      while (ok_ && eat(','));
      ok_ &= eat(']');
    } else {
      ok_ = false;
    }
    return out;
  }

  std::string text_;
  std::size_t at_ = 0;
  bool ok_ = true;
};

/// "(t|)*3" and "t*2" written out.
std::optional<std::string> repeated(std::string_view layout) {
  std::string out;
  std::vector<std::size_t> open;
  std::size_t last = 0;  // where what a star repeats begins
  for (std::size_t i = 0; i < layout.size(); ++i) {
    const char c = layout[i];
    if (c == ' ' || c == ',') continue;
    if (c == '(') {
      open.push_back(out.size());
    } else if (c == ')') {
      if (open.empty()) return std::nullopt;
      last = open.back();
      open.pop_back();
    } else if (c == '*') {
      int times = 0;
      const auto [end, error] = std::from_chars(layout.data() + i + 1, layout.data() + layout.size(), times);
      const std::string unit = out.substr(last);
      if (error != std::errc() || times < 0 || unit.size() * static_cast<std::size_t>(times) > kMost)
        return std::nullopt;
      out.resize(last);
      for (int k = 0; k < times; ++k) out += unit;
      i = static_cast<std::size_t>(end - layout.data()) - 1;
    } else {
      last = out.size();
      out += c;
    }
    if (out.size() > kMost) return std::nullopt;
  }
  return open.empty() ? std::optional(out) : std::nullopt;
}

/// Modules of multi-token prediction, then the loss.
std::string layout_end(int mtp) { return std::string(static_cast<std::size_t>(mtp), 'm') + 'L'; }

}  // namespace

std::optional<std::vector<int>> layer_list(std::string_view expression) { return ListParser(expression).whole(); }

std::string expert_layers(const spec::Model& model) {
  const spec::Moe& moe = *model.moe;
  std::string out;
  int run = 0;
  bool last = false;
  const auto write = [&] {
    if (run > 0) out += (out.empty() ? "[" : "+[") + std::to_string(last) + "]*" + std::to_string(run);
  };
  for (int layer = 0; layer < model.layers; ++layer) {
    const bool has = moe.in_layer(layer);
    if (has != last) {
      write();
      run = 0;
    }
    last = has;
    ++run;
  }
  write();
  return '(' + out + ')';
}

std::optional<ExpertLayers> expert_layers(const std::vector<int>& has_experts) {
  spec::Moe moe;
  while (moe.first_dense < static_cast<int>(has_experts.size()) && has_experts[moe.first_dense] == 0) ++moe.first_dense;
  const int dense = moe.first_dense;
  const auto fits = [&] {
    for (std::size_t i = 0; i < has_experts.size(); ++i) {
      if (moe.in_layer(static_cast<int>(i)) != (has_experts[i] == 1)) return false;
    }
    return true;
  };
  if (fits()) return ExpertLayers{dense, 1};
  moe.first_dense = 0;
  moe.every = dense + 1;  // the first layer with experts is the every-th
  if (fits()) return ExpertLayers{0, moe.every};
  return std::nullopt;
}

std::optional<std::vector<int>> stage_layers(std::string_view layout, int mtp) {
  const std::optional<std::string> text = repeated(layout);
  const std::string end = layout_end(mtp);
  if (!text || text->empty() || text->front() != 'E' || !text->ends_with(end)) return std::nullopt;
  std::vector<int> out{0};
  for (std::size_t i = 1; i + end.size() < text->size(); ++i) {
    if ((*text)[i] == '|') {
      out.push_back(0);
    } else if ((*text)[i] == 't') {
      ++out.back();
    } else {
      return std::nullopt;
    }
  }
  return out;
}

std::string layout_of(const std::vector<int>& stage_layers, int mtp) {
  std::string out = "E";
  for (std::size_t i = 0; i < stage_layers.size(); ++i) {
    if (i > 0) out += '|';
    if (stage_layers[i] > 0) out += "t*" + std::to_string(stage_layers[i]);
  }
  return out + layout_end(mtp);
}

}  // namespace config::launch
