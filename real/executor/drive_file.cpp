// SPDX-License-Identifier: Apache-2.0
#include "real/executor/drive_file.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <system_error>

#include "core/base/fault.h"

namespace real {
namespace {

[[noreturn]] void fail(const char* what, const std::filesystem::path& file, const char* why) {
  throw base::DeviceError("offloading to drives: cannot " + std::string(what) + " '" + file.string() + "': " + why);
}

class Opened {
 public:
  Opened(const std::filesystem::path& file, int flags, const char* what)
      : file_(file), what_(what), handle_(open(file.c_str(), flags | O_CLOEXEC, 0600)) {
    if (handle_ < 0) fail(what_, file_, std::strerror(errno));
  }
  ~Opened() { close(handle_); }
  Opened(const Opened&) = delete;
  int handle() const { return handle_; }
  void check(bool done) const {
    if (!done) fail(what_, file_, std::strerror(errno));
  }
  /// Calls moves(done so far), which tells how many bytes the drive took, until all have been.
  template <class Moves>
  void all(std::size_t bytes, Moves moves) const {
    for (std::size_t done = 0; done < bytes;) {
      const ssize_t moved = moves(done);
      if (moved < 0 && errno == EINTR) continue;
      check(moved >= 0);
      if (moved == 0) fail(what_, file_, "it ends too early");
      done += static_cast<std::size_t>(moved);
    }
  }

 private:
  const std::filesystem::path& file_;
  const char* what_;
  int handle_;
};

}  // namespace

ScratchFolder::ScratchFolder() {
  std::string name = (std::filesystem::temp_directory_path() / "forerun-XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) fail("make the folder", name, std::strerror(errno));
  folder_ = name;
}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

DriveFile::DriveFile(std::shared_ptr<ScratchFolder> folder, bool through_cache)
    : folder_(std::move(folder)), file_(folder_->next_file()), through_cache_(through_cache) {}

DriveFile::~DriveFile() {
  std::error_code ignored;
  std::filesystem::remove(file_, ignored);
}

void DriveFile::write(std::span<const std::byte> bytes) const {
  const Opened file(file_, O_WRONLY | O_CREAT | O_TRUNC, "write");
  file.all(bytes.size(), [&](std::size_t done) {
    return pwrite(file.handle(), bytes.data() + done, bytes.size() - done, static_cast<off_t>(done));
  });
  if (through_cache_) return;
  file.check(fdatasync(file.handle()) == 0);
  posix_fadvise(file.handle(), 0, 0, POSIX_FADV_DONTNEED);
}

void DriveFile::read(std::int64_t offset, std::span<std::byte> to) const {
  const Opened file(file_, O_RDONLY, "read");
  file.all(to.size(), [&](std::size_t done) {
    return pread(file.handle(), to.data() + done, to.size() - done, offset + static_cast<off_t>(done));
  });
  if (!through_cache_) posix_fadvise(file.handle(), 0, 0, POSIX_FADV_DONTNEED);
}

}  // namespace real
