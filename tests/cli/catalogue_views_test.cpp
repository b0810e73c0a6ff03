// What `list` and `show` print, on the catalogue of tests/data/catalogue: whole answers, golden.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/cli/run_forerun.h"
#include "tests/golden.h"

namespace {

using testing_support::content_of;
using testing_support::expect_golden;
using testing_support::ScratchFolder;

/// From the source tree, so that the paths in the answer are the same everywhere.
std::string told(const std::string& arguments) {
  const ScratchFolder folder;
  const std::string command = std::string("cd '") + FORERUN_SOURCE_DIR +
                              "' && FORERUN_DATA=tests/data/catalogue '" FORERUN_BINARY "' " + arguments + " >'" +
                              (folder / "out") + "'";
  EXPECT_EQ(std::system(command.c_str()), 0) << arguments;
  return content_of(folder / "out");
}

TEST(CatalogueViews, OfAllNames) { expect_golden("list.txt", told("list")); }

TEST(CatalogueViews, OfAModel) {
  // Layer: attention 4 x 8 x 8 = 256, feed-forward 2 x 8 x 32 = 512, two norms of 2 x 8; two layers; embedding and head
  // 100 x 8 each, the last norm 16: 3216.
  expect_golden("show_model.txt", told("show models/toy"));
}

TEST(CatalogueViews, OfAGpuThatIsBasedOnAnother) { expect_golden("show_gpu.txt", told("show toy-large")); }

TEST(CatalogueViews, OfANameThatTwoKindsHave) { expect_golden("show_namesake.txt", told("show toy")); }

}  // namespace
