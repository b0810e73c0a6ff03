// tests/emulated_gpu/libraries/worlds.cpp -- communicators by their id. SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <mutex>
#include <string>

#include "tests/emulated_gpu/libraries/meeting.h"

namespace emulated_gpu {
namespace {

namespace fs = std::filesystem;

const char* meetings() { return std::getenv("FORERUN_EMULATED_MEETINGS"); }

}  // namespace

void make_id(ncclUniqueId& id) {
  static std::atomic<int> next{1};
  const std::string text = fmt::format("{}-{}", getpid(), next++);
  if (const char* folder = meetings()) fs::remove_all(fs::path(folder) / text);  // of a process before, or killed there
  std::memset(id.internal, 0, sizeof id.internal);
  std::memcpy(id.internal, text.data(), text.size());
}

std::shared_ptr<Meeting> world_of(const ncclUniqueId& id, int ranks) {
  const std::string name = id.internal;
  if (const char* folder = meetings()) {
    return meeting_of_processes(fmt::format("{}/{}", folder, name), ranks);
  }
  static std::mutex guard;
  static std::map<std::string, std::shared_ptr<Meeting>> worlds;
  const std::lock_guard lock(guard);
  std::shared_ptr<Meeting>& found = worlds[name];
  if (!found) found = meeting_of_threads(ranks);
  return found;
}

}  // namespace emulated_gpu
