// real/executor/drive_file.h -- tensors in files, as offloading to NVMe leaves them: a file for each, in a scratch
// folder that goes with the last of them. TMPDIR says on which drive. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>

#include "real/executor/tensor.h"

namespace real {

/// A fresh folder among the system's temporary ones. Throws base::DeviceError where none can be made.
class ScratchFolder {
 public:
  ScratchFolder();
  ~ScratchFolder();
  ScratchFolder(const ScratchFolder&) = delete;
  std::filesystem::path next_file() { return folder_ / std::to_string(files_++); }

 private:
  std::filesystem::path folder_;
  int files_ = 0;
};

/// A file that is removed with its tensor. Nothing is in it before write().
class DriveFile final : public Storage {
 public:
  /// `through_cache`: pages stay in the host's memory, from which they are read back. Otherwise write() returns when
  /// the drive has them, and read() takes them from there.
  DriveFile(std::shared_ptr<ScratchFolder> folder, bool through_cache);
  ~DriveFile() override;
  DriveFile(const DriveFile&) = delete;

  /// Both throw base::DeviceError where the drive does not do it, and may be called on any thread.
  void write(std::span<const std::byte> bytes) const;
  /// From `offset` bytes on.
  void read(std::int64_t offset, std::span<std::byte> to) const;

 private:
  std::shared_ptr<ScratchFolder> folder_;
  std::filesystem::path file_;
  bool through_cache_;
};

}  // namespace real
