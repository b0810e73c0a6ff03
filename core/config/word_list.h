// core/config/word_list.h -- texts by number, each once. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <unordered_map>
#include <vector>

namespace config {

class WordList {
 public:
  /// Of a word that is new, the next one.
  std::size_t number(const std::string& word) {
    const auto [at, fresh] = numbers_.try_emplace(word, words_.size());
    if (fresh) words_.push_back(word);
    return at->second;
  }
  const std::vector<std::string>& words() const { return words_; }

 private:
  std::vector<std::string> words_;
  std::unordered_map<std::string, std::size_t> numbers_;
};

}  // namespace config
