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

}  // namespace config
