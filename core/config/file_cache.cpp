// SPDX-License-Identifier: Apache-2.0
#include "core/config/file_cache.h"

namespace config {

std::shared_ptr<const Value> FileCache::load(const std::string& path) {
  {
    const std::lock_guard lock(guard_);
    if (const auto known = trees_.find(path); known != trees_.end()) return known->second;
  }
  auto tree = std::make_shared<const Value>(config::load(path));  // beside the lock: two may read it, one is kept
  const std::lock_guard lock(guard_);
  return trees_.emplace(path, std::move(tree)).first->second;
}

}  // namespace config
