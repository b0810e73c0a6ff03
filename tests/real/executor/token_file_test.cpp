// tests/real/executor/token_file_test.cpp -- real/executor/token_file.h. SPDX-License-Identifier: Apache-2.0
#include "real/executor/token_file.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "core/base/fault.h"

namespace {

using Ids = std::vector<std::int32_t>;

class TokenFile : public testing::Test {
 protected:
  ~TokenFile() override { std::filesystem::remove(path_); }
  std::string with(const std::string& bytes) {
    std::ofstream(path_, std::ios::binary) << bytes;
    return path_;
  }
  std::string refusal(const std::string& bytes, std::int64_t vocabulary) {
    try {
      real::read_token_ids(with(bytes), vocabulary, 100);
    } catch (const base::InputError& error) {
      return error.what();
    }
    return "";
  }

  std::string path_ = testing::TempDir() + "/ids";
};

TEST_F(TokenFile, IdsAreOf16BitsWhereThoseAreEnoughElseOf32) {
  const std::string bytes("\x01\x00\x02\x01\x03\x00\x00\x00", 8);
  EXPECT_EQ(real::read_token_ids(with(bytes), 65'536, 100), (Ids{1, 0x102, 3, 0}));
  // 0x01020001 is beyond any vocabulary of tokens; read as 32 bits it has to fit, too.
  EXPECT_EQ(real::read_token_ids(with(bytes), 1 << 25, 100), (Ids{0x01020001, 3}));
}

TEST_F(TokenFile, NoMoreThanNeededIsRead) {
  EXPECT_EQ(real::read_token_ids(with(std::string("\x01\x00\x02\x00\xff\xff", 6)), 10, 2), (Ids{1, 2}));
}

TEST_F(TokenFile, AFileOfAnotherKindIsRefused) {
  EXPECT_NE(refusal(std::string("\x01\x00\x02\x00\x03", 5), 10).find("ends within an id"), std::string::npos);
  EXPECT_NE(refusal(std::string("\x01\x00", 2), 10).find("fewer than two tokens"), std::string::npos);
  EXPECT_NE(refusal(std::string("\x01\x00\x0a\x00", 4), 10).find("token 2 of"), std::string::npos);
  EXPECT_NE(refusal(std::string("\xff\xff\xff\xff\x00\x00\x00\x00", 8), 100'000).find("is 4294967295, beyond"),
            std::string::npos);
}

}  // namespace
