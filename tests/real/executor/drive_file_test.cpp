// tests/real/executor/drive_file_test.cpp -- what is offloaded to a drive comes back, and leaves nothing behind.
// SPDX-License-Identifier: Apache-2.0
#include "real/executor/drive_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <array>
#include <cstdlib>

#include "core/base/fault.h"

namespace {

using real::DriveFile;
using real::DrivePiece;

TEST(DriveFile, APartIsReadFromWhereItLies) {
  for (const bool through_cache : {true, false}) {
    const auto file = std::make_shared<DriveFile>();
    const std::array<int, 4> all{1, 2, 3, 4}, others{5, 6, 7, 8};
    const DrivePiece piece(file, sizeof all, through_cache), other(file, sizeof others, through_cache);
    piece.write(std::as_bytes(std::span(all)));
    other.write(std::as_bytes(std::span(others)));
    std::array<int, 2> back{};
    piece.read(2 * sizeof(int), std::as_writable_bytes(std::span(back)));
    EXPECT_EQ(back, (std::array{3, 4}));
    other.read(0, std::as_writable_bytes(std::span(back)));
    EXPECT_EQ(back, (std::array{5, 6}));
  }
}

TEST(DriveFile, APieceThatIsGivenBackIsTakenByTheNextOfItsSize) {
  DriveFile file;
  EXPECT_EQ(file.take(10), 0);
  EXPECT_EQ(file.take(20), 10);
  EXPECT_EQ(file.take(10), 30);
  file.give_back(0, 10);
  file.give_back(10, 20);
  EXPECT_EQ(file.take(15), 40);  // not in a part of the 20
  EXPECT_EQ(file.take(20), 10);
  EXPECT_EQ(file.take(10), 0);
  EXPECT_EQ(file.take(10), 55);
}

TEST(DriveFile, WhatWasNeverWrittenIsNotThereToRead) {
  const DrivePiece piece(std::make_shared<DriveFile>(), 3, true);
  std::array<std::byte, 3> back{};
  piece.write(std::span<const std::byte>(back).first(2));
  try {
    piece.read(0, back);
    FAIL() << "read three bytes of two";
  } catch (const base::DeviceError& error) {
    EXPECT_THAT(error.what(),
                testing::MatchesRegex("offloading to drives: cannot read a file in '.*': it ends too early"));
  }
}

// However its process ends, nothing of it stays: hundreds of gigabytes may be in it.
TEST(DriveFile, HasNoNameThatCouldBeLeftBehind) {
  const DriveFile file;
  struct stat of_file {};
  ASSERT_EQ(fstat(file.handle(), &of_file), 0);
  EXPECT_EQ(of_file.st_nlink, 0u);
}

/// What is said where `name` alone names a folder that is not there.
std::string said_with(const char* name) {
  const char* const before = std::getenv("TMPDIR");
  const std::string kept = before == nullptr ? "" : before;  // setenv may move it
  unsetenv("TMPDIR");
  setenv(name, "/no/such/folder", 1);
  std::string said;
  try {
    const DriveFile file;
  } catch (const base::DeviceError& error) {
    said = error.what();
  }
  unsetenv(name);
  if (before != nullptr) setenv("TMPDIR", kept.c_str(), 1);
  return said;
}

TEST(DriveFile, AFolderThatIsNotThereIsNamed) {
  for (const char* name : {"TMPDIR", "TMP"}) {
    EXPECT_THAT(said_with(name), testing::HasSubstr("cannot make a file in '/no/such/folder'")) << name;
  }
}

}  // namespace
