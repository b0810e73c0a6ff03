// real/executor/drive_file.h -- tensors on a drive, as offloading to NVMe leaves them: pieces of one file, which has no
// name, so that it goes with the process however that ends. TMPDIR says on which drive.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>

#include "real/executor/tensor.h"

namespace real {

/// Pieces may be taken and given back on any thread.
class DriveFile {
 public:
  /// Throws base::DeviceError where none can be made among the system's temporary files.
  DriveFile();
  ~DriveFile();
  DriveFile(const DriveFile&) = delete;

  /// Where `bytes` may be written: where as many were before, or behind all others.
  std::int64_t take(std::int64_t bytes);
  /// The blocks stay the file's: as many bytes come again in the next step, and to write where a hole was punched takes
  /// 2.7 times as long (ext4, pieces of 8 MB). What waits so was a fifth of the file at most (tiny models, two steps).
  void give_back(std::int64_t offset, std::int64_t bytes);
  int handle() const { return handle_; }
  const std::string& folder() const { return folder_; }  // that it is in

 private:
  std::string folder_;
  int handle_ = -1;
  std::mutex guard_;
  std::int64_t end_ = 0;
  std::multimap<std::int64_t, std::int64_t> free_;  // offsets by size: those of tensors come again in every step
};

/// A tensor's. Nothing is in it before write().
class DrivePiece final : public Storage {
 public:
  /// `through_cache`: pages stay in the host's memory, from which they are read back. Otherwise write() returns when
  /// the drive has been given them, and read() takes them from there. Swap space: nothing outlasts the process.
  DrivePiece(std::shared_ptr<DriveFile> file, std::int64_t bytes, bool through_cache);
  ~DrivePiece() override;
  DrivePiece(const DrivePiece&) = delete;

  // Both throw base::DeviceError where the drive does not do it, and may be called on any thread. REQUIRES: what is
  // written or read lies within the piece.
  void write(std::span<const std::byte> bytes) const;
  void read(std::int64_t offset, std::span<std::byte> to) const;

 private:
  std::shared_ptr<DriveFile> file_;
  std::int64_t at_, bytes_;
  bool through_cache_;
};

}  // namespace real
