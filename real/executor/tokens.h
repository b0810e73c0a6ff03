// real/executor/tokens.h -- what is learned from: sequences of token ids, made up or read from a file.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

namespace real {

class Tokens {
 public:
  /// A text that can be learned: every token but a tenth of them follows from the one before it by a fixed rule.
  Tokens(std::int64_t vocabulary, std::uint64_t seed) : vocabulary_(vocabulary), seed_(seed) {}
  /// Sequences are cut from `text` one behind the other, and again from its begin. REQUIRES: ids below `vocabulary`; at
  /// least two of them.
  Tokens(std::int64_t vocabulary, std::vector<std::int32_t> text) : vocabulary_(vocabulary), text_(std::move(text)) {}

  /// The `length` ids of a sequence, one more, which is the last one's target, and `behind` that follow: what modules
  /// of multi-token prediction look ahead to. Sequences count over all steps. REQUIRES: behind <= 100
  std::vector<std::int32_t> sequence(std::int64_t number, std::int64_t length, int behind = 0) const;

 private:
  std::int64_t vocabulary_;
  std::uint64_t seed_ = 0;
  std::vector<std::int32_t> text_;  // empty: made up
};

}  // namespace real
