// SPDX-License-Identifier: Apache-2.0
#include "core/config/text_lines.h"

#include <zlib.h>

#include <array>
#include <utility>

namespace config {

TextLines::TextLines(std::string path) : path_(std::move(path)), file_(open_gzip(path_)) {
  if (!file_)
    throw base::InputError({{"PATH", why_not_opened(path_), "name a table of measured rows", {path_, 0, 0}}});
}

bool TextLines::next(std::string& line) {
  line.clear();
  std::array<char, 4096> part;
  ++number_;
  while (gzgets(file_.get(), part.data(), static_cast<int>(part.size())) != nullptr) {
    line += part.data();
    if (!line.empty() && line.back() == '\n') {
      line.pop_back();
      if (!line.empty() && line.back() == '\r') line.pop_back();
      return true;
    }
  }
  int code = Z_OK;
  gzerror(file_.get(), &code);
  if (code != Z_OK) fault(1, "PATH", "the packed file is broken or ends early", "fetch or write it again");
  return !line.empty();
}

void TextLines::fault(int column, std::string field, std::string what, std::string mend) const {
  throw base::InputError({{std::move(field), std::move(what), std::move(mend), {path_, number_, column}}});
}

}  // namespace config
