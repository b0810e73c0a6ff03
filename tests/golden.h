// tests/golden.h -- compares a text with a file of tests/golden/. `FORERUN_REWRITE_GOLDEN=1 ./dev test` writes all of
// them anew; the difference is then reviewed like code. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

namespace testing_support {

inline void expect_golden(const std::string& name, const std::string& text) {
  const std::string path = std::string(FORERUN_SOURCE_DIR) + "/tests/golden/" + name;
  if (std::getenv("FORERUN_REWRITE_GOLDEN")) {
    std::ofstream(path, std::ios::binary) << text;
    return;
  }
  std::ifstream file(path, std::ios::binary);
  ASSERT_TRUE(file) << path << " is missing; write it with FORERUN_REWRITE_GOLDEN=1";
  std::ostringstream expected;
  expected << file.rdbuf();
  EXPECT_EQ(text, expected.str());
}

}  // namespace testing_support
