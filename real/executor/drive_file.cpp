// SPDX-License-Identifier: Apache-2.0
#include "real/executor/drive_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include "core/base/fault.h"
#include "real/executor/nameless_file.h"

namespace real {
namespace {

[[noreturn]] void fail(const char* what, const std::string& folder, const char* why) {
  throw base::DeviceError("offloading to drives: cannot " + std::string(what) + " a file in '" + folder + "': " + why);
}

template <class Moves>
void all(std::size_t bytes, const char* what, const std::string& folder, Moves moves) {
  move_all(bytes, moves,
           [&](int error) { fail(what, folder, error != 0 ? std::strerror(error) : "it ends too early"); });
}

/// Until the drive has been given the pages of a range, and of no other, whoever writes there. Its own cache is not
/// flushed, nor is anything told where the pages lie: after this process nobody reads them.
bool reach_drive(int handle, std::int64_t at, std::size_t bytes) {
  constexpr unsigned kAll = SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER;
  return sync_file_range(handle, at, static_cast<off_t>(bytes), kAll) == 0;
}

/// Where the environment wants temporary files; the first of these that is set is the one that C++ looks at.
std::string wished_folder() {
  for (const char* name : {"TMPDIR", "TMP", "TEMP", "TEMPDIR"}) {
    if (const char* folder = std::getenv(name)) return folder;
  }
  return "/tmp";
}

}  // namespace

DriveFile::DriveFile() {
  std::error_code error;
  folder_ = std::filesystem::temp_directory_path(error).string();
  if (error) fail("make", wished_folder(), error.message().c_str());
  handle_ = nameless_file(folder_);
  if (handle_ < 0) fail("make", folder_, std::strerror(errno));
}

DriveFile::~DriveFile() { close(handle_); }

std::int64_t DriveFile::take(std::int64_t bytes) {
  const std::lock_guard lock(guard_);
  if (const auto found = free_.find(bytes); found != free_.end()) return free_.extract(found).mapped();
  const std::int64_t at = end_;
  end_ += bytes;
  return at;
}

void DriveFile::give_back(std::int64_t offset, std::int64_t bytes) {
  const std::lock_guard lock(guard_);
  free_.emplace(bytes, offset);
}

DrivePiece::DrivePiece(std::shared_ptr<DriveFile> file, std::int64_t bytes, bool through_cache)
    : file_(std::move(file)), at_(file_->take(bytes)), bytes_(bytes), through_cache_(through_cache) {}

DrivePiece::~DrivePiece() { file_->give_back(at_, bytes_); }

void DrivePiece::write(std::span<const std::byte> bytes) const {
  all(bytes.size(), "write", file_->folder(), [&](std::size_t done) {
    return pwrite(file_->handle(), bytes.data() + done, bytes.size() - done, at_ + static_cast<off_t>(done));
  });
  if (through_cache_ || bytes.empty()) return;  // a range of no bytes is one up to the file's end
  if (!reach_drive(file_->handle(), at_, bytes.size())) fail("write", file_->folder(), std::strerror(errno));
  posix_fadvise(file_->handle(), at_, bytes_, POSIX_FADV_DONTNEED);
}

void DrivePiece::read(std::int64_t offset, std::span<std::byte> to) const {
  all(to.size(), "read", file_->folder(), [&](std::size_t done) {
    return pread(file_->handle(), to.data() + done, to.size() - done, at_ + offset + static_cast<off_t>(done));
  });
  if (!through_cache_ && !to.empty()) posix_fadvise(file_->handle(), at_, bytes_, POSIX_FADV_DONTNEED);
}

}  // namespace real
