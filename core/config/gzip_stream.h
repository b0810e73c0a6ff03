// core/config/gzip_stream.h -- a large file as a stream of bytes, packed by gzip or not.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <streambuf>
#include <string>
#include <vector>

#include "core/config/gzip_file.h"

namespace config {

/// For std::istream.
class GzipBuffer : public std::streambuf {
 public:
  /// Throws base::InputError when there is no such file.
  explicit GzipBuffer(std::string path);
  /// Whether the packed data was whole, so far as it was read.
  bool sound() const { return sound_; }

 protected:
  int_type underflow() override;

 private:
  GzipFile file_;
  std::vector<char> bytes_ = std::vector<char>(1 << 16);
  bool sound_ = true;
};

}  // namespace config
