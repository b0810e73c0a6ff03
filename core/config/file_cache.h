// core/config/file_cache.h -- files of the catalogue, each read once: a thousand Jobs name the same few.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "core/config/document.h"

namespace config {

/// For many threads at once. A file that changes while the cache lives is not read again.
class FileCache {
 public:
  /// As load(), whose base::InputError comes each time.
  std::shared_ptr<const Value> load(const std::string& path);

 private:
  std::mutex guard_;
  std::map<std::string, std::shared_ptr<const Value>> trees_;
};

}  // namespace config
