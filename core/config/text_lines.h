// core/config/text_lines.h -- a large table line by line, packed by gzip or not.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "core/base/fault.h"
#include "core/config/gzip_file.h"

namespace config {

/// Reads one line after another.
class TextLines {
 public:
  /// Throws base::InputError when there is no such file.
  explicit TextLines(std::string path);

  /// The next line without its end; false at the end of the file. Throws base::InputError when the packed data is
  /// broken or ends early.
  bool next(std::string& line);
  int number() const { return number_; }  // of the line that next() gave last; from 1

  /// Throws base::InputError at the last line.
  [[noreturn]] void fault(int column, std::string field, std::string what, std::string mend) const;

 private:
  std::string path_;
  GzipFile file_;
  int number_ = 0;
};

}  // namespace config
