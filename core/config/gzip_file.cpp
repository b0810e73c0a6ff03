// SPDX-License-Identifier: Apache-2.0
#include "core/config/gzip_file.h"

#include <zlib.h>

#include <filesystem>

namespace config {

void CloseGzip::operator()(gzFile_s* file) const { gzclose(file); }

GzipFile open_gzip(const std::string& path) {
  std::error_code error;
  return GzipFile(std::filesystem::is_regular_file(path, error) ? gzopen(path.c_str(), "rb") : nullptr);
}

const char* why_not_opened(const std::string& path) {
  std::error_code error;
  const auto status = std::filesystem::status(path, error);
  if (!std::filesystem::exists(status)) return "there is no such file";
  if (std::filesystem::is_directory(status)) return "it is a folder";
  return std::filesystem::is_regular_file(status) ? "it may not be read" : "it is no regular file";
}

}  // namespace config
