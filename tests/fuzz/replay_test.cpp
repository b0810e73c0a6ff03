// tests/fuzz/replay_test.cpp -- every input that the fuzzer's corpus keeps, without a fuzzer: examples of each kind of
// file, and each input that once broke a reader. SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <vector>

#include "tests/fuzz/config_target.h"

namespace {

std::vector<std::filesystem::path> corpus() {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(FORERUN_SOURCE_DIR "/tests/fuzz/corpus")) {
    files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

std::string content(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// Whether the readers take it without a fault.
bool is_sound(const std::string& input) {
  const config::testing::SmallCatalogue small;
  try {
    fuzz::read_as(input.front(), std::string_view(input).substr(1), small.catalogue());
    return true;
  } catch (const base::InputError&) {
    return false;
  }
}

TEST(FuzzCorpus, EveryInputIsReadOrRefusedWithPlaceAndMend) {
  for (const auto& file : corpus()) {
    SCOPED_TRACE(file.filename());
    fuzz::try_input(content(file));  // ends the process when a reader breaks
  }
}

TEST(FuzzCorpus, HoldsEachKindOfInput) {
  std::set<char> kinds;
  for (const auto& file : corpus()) kinds.insert(content(file).at(0));
  for (const char kind : std::string("JMNGFWCHSTK")) EXPECT_TRUE(kinds.contains(kind)) << kind;
}

TEST(FuzzCorpus, ItsExamplesAreSound) {
  // An example with a fault would stop the fuzzer at its door.
  int examples = 0;
  for (const auto& file : corpus()) {
    if (!file.filename().string().starts_with("example-")) continue;
    ++examples;
    EXPECT_TRUE(is_sound(content(file))) << file.filename();
  }
  EXPECT_GE(examples, 20);
}

TEST(FuzzCorpus, ItsRefusedInputsAreRefused) {
  int refused = 0;
  for (const auto& file : corpus()) {
    if (!file.filename().string().starts_with("refused-")) continue;
    ++refused;
    EXPECT_FALSE(is_sound(content(file))) << file.filename();
  }
  EXPECT_GE(refused, 10);
}

}  // namespace
