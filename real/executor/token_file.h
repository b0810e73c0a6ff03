// real/executor/token_file.h -- token ids that a user has in a file. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "real/executor/tokens.h"

namespace real {

/// Ids one behind the other, little-endian: of 16 bits, of 32 where `vocabulary` has more ids than those tell apart. At
/// most `most` of them. Throws base::InputError of --tokens: no such file, no whole number of ids, an id that the
/// vocabulary does not have, fewer than two.
std::vector<std::int32_t> read_token_ids(const std::string& path, std::int64_t vocabulary, std::int64_t most);

/// What `steps` steps of so many tokens learn from: of the file, or made up where `path` is empty.
Tokens tokens_of(const std::string& path, std::int64_t vocabulary, double steps, double tokens);

}  // namespace real
