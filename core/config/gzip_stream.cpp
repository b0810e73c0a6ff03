// SPDX-License-Identifier: Apache-2.0
#include "core/config/gzip_stream.h"

#include <zlib.h>

#include "core/base/fault.h"

namespace config {

GzipBuffer::GzipBuffer(std::string path) : file_(open_gzip(path)) {
  if (!file_) throw base::InputError({{"TRACE", why_not_opened(path), "name a recorded trace", {path, 0, 0}}});
}

GzipBuffer::int_type GzipBuffer::underflow() {
  const int read = gzread(file_.get(), bytes_.data(), static_cast<unsigned>(bytes_.size()));
  int code = Z_OK;
  gzerror(file_.get(), &code);
  // A file that is cut off unpacks as far as it goes.
  sound_ = sound_ && read >= 0 && (code == Z_OK || code == Z_STREAM_END);
  if (read <= 0) return traits_type::eof();
  setg(bytes_.data(), bytes_.data(), bytes_.data() + read);
  return traits_type::to_int_type(*gptr());
}

}  // namespace config
