// core/config/gzip_file.h -- a file that zlib reads: packed by gzip or not, which it tells by the first bytes.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

struct gzFile_s;  // zlib's

namespace config {

struct CloseGzip {
  void operator()(gzFile_s*) const;
};
using GzipFile = std::unique_ptr<gzFile_s, CloseGzip>;

/// Empty when there is no such file.
GzipFile open_gzip(const std::string& path);
/// Of one that is empty: "there is no such file", or what else stands there.
const char* why_not_opened(const std::string& path);

}  // namespace config
