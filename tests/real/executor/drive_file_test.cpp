// tests/real/executor/drive_file_test.cpp -- what is offloaded to a drive comes back, and leaves nothing behind.
// SPDX-License-Identifier: Apache-2.0
#include "real/executor/drive_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <optional>
#include <vector>

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

constexpr std::size_t kBytes = 1 << 20;

/// Of pages of a file, how many the host has in its memory, and how many of these no drive has been given.
struct Cached {
  std::uint64_t pages = 0, dirty = 0, being_written = 0, gone = 0, gone_lately = 0;
};

/// Nothing: the kernel does not tell (it does from Linux 6.5 on), or the folder is in memory.
std::optional<Cached> cached(const DriveFile& file, std::uint64_t at) {
  constexpr long kCachestat = 451;
  struct statfs of_file {};
  if (fstatfs(file.handle(), &of_file) != 0 || of_file.f_type == TMPFS_MAGIC) return std::nullopt;
  const std::array<std::uint64_t, 2> range{at, kBytes};
  Cached out;
  if (syscall(kCachestat, file.handle(), range.data(), &out, 0) != 0) return std::nullopt;
  return out;
}

// Others' pages may go to the drive meanwhile for reasons of the kernel's, but not each time.
TEST(DriveFile, APieceReachesTheDriveAndWaitsForNoOthersPages) {
  const std::vector<std::byte> bytes(kBytes, std::byte{1});
  const std::uint64_t all = kBytes / static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  bool left_alone = false, by_none = false;
  for (int again = 0; again < 5; ++again) {
    const auto file = std::make_shared<DriveFile>();
    const DrivePiece none(file, 0, false), other(file, kBytes, true), piece(file, kBytes, false);
    other.write(bytes);
    none.write({});
    const auto before = cached(*file, 0);
    if (!before) GTEST_SKIP() << "nobody tells what is cached";
    by_none |= before->dirty == all;
    piece.write(bytes);
    left_alone |= cached(*file, 0)->dirty == all;
    EXPECT_EQ(cached(*file, kBytes)->pages, 0u);
  }
  EXPECT_TRUE(by_none);
  EXPECT_TRUE(left_alone);
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
