// SPDX-License-Identifier: Apache-2.0
#include "real/executor/tokens.h"

#include "kernels/philox.h"

namespace real {

std::vector<std::int32_t> Tokens::sequence(std::int64_t number, std::int64_t length, int behind) const {
  std::vector<std::int32_t> out;
  if (!text_.empty()) {
    const auto size = static_cast<std::int64_t>(text_.size());
    for (std::int64_t i = 0; i <= length + behind; ++i) out.push_back(text_[(number * length + i) % size]);
    return out;
  }
  std::int64_t token = 0;
  for (std::int64_t i = 0; i <= length + behind; ++i) {
    // What follows is drawn by a key of its own, so that it leaves the next sequence as it is.
    const kernels::Four random =
        i <= length ? kernels::philox(seed_, static_cast<std::uint64_t>(number * (length + 1) + i))
                    : kernels::philox(~seed_, static_cast<std::uint64_t>(number * 100 + i - length - 1));
    const bool surprises = i == 0 || random.word[0] % 10 == 0;
    token = surprises ? random.word[1] % vocabulary_ : (5 * token + 3) % vocabulary_;
    out.push_back(static_cast<std::int32_t>(token));
  }
  return out;
}

}  // namespace real
