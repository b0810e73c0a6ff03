// SPDX-License-Identifier: Apache-2.0
#include "real/cpu/drive.h"

#include <stdlib.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <string>
#include <system_error>

#include "core/base/fault.h"

namespace real::cpu {
namespace {

std::streamoff bytes(std::int64_t numbers) { return numbers * static_cast<std::streamoff>(sizeof(double)); }

[[noreturn]] void fail(const char* what, const std::filesystem::path& file) {
  throw base::DeviceError("offloading to drives: cannot " + std::string(what) + " '" + file.string() +
                          "': " + std::strerror(errno));
}

}  // namespace

ScratchFolder::ScratchFolder() {
  std::string name = (std::filesystem::temp_directory_path() / "forerun-XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) fail("make the folder", name);
  folder_ = name;
}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

DriveMemory::DriveMemory(std::shared_ptr<ScratchFolder> folder, std::span<const double> numbers)
    : folder_(std::move(folder)), file_(folder_->next_file()) {
  std::ofstream out(file_, std::ios::binary);
  out.write(reinterpret_cast<const char*>(numbers.data()), bytes(static_cast<std::int64_t>(numbers.size())));
  if (!out.flush()) fail("write", file_);
}

DriveMemory::~DriveMemory() {
  std::error_code ignored;
  std::filesystem::remove(file_, ignored);
}

std::vector<double> DriveMemory::read(std::int64_t offset, std::int64_t count) const {
  std::vector<double> out(static_cast<std::size_t>(count));
  std::ifstream in(file_, std::ios::binary);
  in.seekg(bytes(offset));
  in.read(reinterpret_cast<char*>(out.data()), bytes(count));
  if (!in) fail("read", file_);
  return out;
}

}  // namespace real::cpu
