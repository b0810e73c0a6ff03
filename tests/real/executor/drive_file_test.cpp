// tests/real/executor/drive_file_test.cpp -- what is offloaded to a drive comes back, and leaves nothing behind.
// SPDX-License-Identifier: Apache-2.0
#include "real/executor/drive_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>

#include "core/base/fault.h"

namespace {

using real::DriveFile;
using real::ScratchFolder;

TEST(DriveFile, APartIsReadFromWhereItLies) {
  for (const bool through_cache : {true, false}) {
    const DriveFile file(std::make_shared<ScratchFolder>(), through_cache);
    const std::array<int, 4> all{1, 2, 3, 4};
    file.write(std::as_bytes(std::span(all)));
    std::array<int, 2> back{};
    file.read(2 * sizeof(int), std::as_writable_bytes(std::span(back)));
    EXPECT_EQ(back, (std::array{3, 4}));
  }
}

TEST(DriveFile, WhatEndsTooEarlyIsNamed) {
  const DriveFile file(std::make_shared<ScratchFolder>(), true);
  std::array<std::byte, 3> back{};
  file.write(std::span<const std::byte>(back).first(2));
  try {
    file.read(0, back);
    FAIL() << "read three bytes of two";
  } catch (const base::DeviceError& error) {
    EXPECT_THAT(error.what(), testing::MatchesRegex("offloading to drives: cannot read '.*': it ends too early"));
  }
}

TEST(DriveFile, FilesAndTheirFolderGoWithTheLast) {
  auto folder = std::make_shared<ScratchFolder>();
  const std::filesystem::path next = folder->next_file(), place = next.parent_path();
  {
    const DriveFile file(folder, true);
    folder.reset();
    file.write({});
    EXPECT_FALSE(std::filesystem::is_empty(place));
  }
  EXPECT_FALSE(std::filesystem::exists(place));
}

}  // namespace
