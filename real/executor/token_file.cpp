// SPDX-License-Identifier: Apache-2.0
#include "real/executor/token_file.h"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>

#include "core/base/fault.h"

namespace real {
namespace {

constexpr std::uint64_t kTextSeed = 1;  // the same on every backend, so that losses can be compared
constexpr std::int64_t kIdsOf16Bits = 65'536;
constexpr std::int64_t kBehind = 100;  // that look-ahead may want of the last sequence (tokens.h)

[[noreturn]] void refuse(const std::string& what, const std::string& mend) {
  throw base::InputError({{"--tokens", what, mend, {}}});
}

}  // namespace

std::vector<std::int32_t> read_token_ids(const std::string& path, std::int64_t vocabulary, std::int64_t most) {
  const std::size_t width = vocabulary > kIdsOf16Bits ? 4 : 2;
  const std::string wanted = fmt::format("give a file of {}-bit token ids", 8 * width);
  std::ifstream in(path, std::ios::binary);
  if (!in) refuse("cannot read " + path, wanted);
  if (std::filesystem::is_directory(path)) refuse(path + " is a folder", wanted);
  std::vector<std::int32_t> out;
  unsigned char bytes[4] = {};
  while (static_cast<std::int64_t>(out.size()) < most &&
         in.read(reinterpret_cast<char*>(bytes), static_cast<std::streamsize>(width))) {
    std::uint32_t id = 0;
    for (std::size_t i = width; i-- > 0;) id = id << 8 | bytes[i];
    if (id >= vocabulary) {
      refuse(fmt::format("token {} of {} is {}, beyond a vocabulary of {}", out.size() + 1, path, id, vocabulary),
             "choose the model that the file was made for; its ids are read with " + std::to_string(8 * width) +
                 " bits each");
    }
    out.push_back(static_cast<std::int32_t>(id));
  }
  if (in.eof() && in.gcount() != 0) refuse(path + " ends within an id", wanted);
  if (out.size() < 2) refuse(path + " has fewer than two tokens", wanted);
  return out;
}

Tokens tokens_of(const std::string& path, std::int64_t vocabulary, double steps, double tokens) {
  if (path.empty()) return {vocabulary, kTextSeed};
  return {vocabulary, read_token_ids(path, vocabulary, static_cast<std::int64_t>(steps * tokens) + kBehind + 1)};
}

}  // namespace real
