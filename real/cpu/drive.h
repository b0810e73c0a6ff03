// real/cpu/drive.h -- tensors in files, as offloading to NVMe leaves them: a file for each, in a scratch folder that
// goes with the last of them. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <memory>
#include <span>
#include <vector>

#include "real/executor/tensor.h"

namespace real::cpu {

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

/// Numbers in a file, which is removed with them.
struct DriveMemory final : Storage {
  /// Throws base::DeviceError where they cannot be written.
  DriveMemory(std::shared_ptr<ScratchFolder> folder, std::span<const double> numbers);
  ~DriveMemory() override;
  /// Throws base::DeviceError where they cannot be read.
  std::vector<double> read(std::int64_t offset, std::int64_t count) const;

 private:
  std::shared_ptr<ScratchFolder> folder_;
  std::filesystem::path file_;
};

}  // namespace real::cpu
