// tests/cli/run_forerun.h -- runs the built binary as a user's shell does.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

namespace testing_support {

/// A folder of its own for a test, gone with it. CTest runs suites at the same time, so names carry the process.
class ScratchFolder {
 public:
  ScratchFolder() {
    static std::atomic<int> made{0};
    path_ = std::filesystem::temp_directory_path() /
            ("forerun-test-" + std::to_string(::getpid()) + "-" + std::to_string(made++));
    std::filesystem::create_directories(path_);
  }
  ~ScratchFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  std::string operator/(const std::string& name) const { return (path_ / name).string(); }
  int files() const {
    int count = 0;
    for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(path_)) ++count;
    return count;
  }

 private:
  std::filesystem::path path_;
};

inline std::string content_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

struct Answer {
  int exit_code = -1;
  std::string out, err;
};

/// `arguments` as typed in a shell.
inline Answer forerun(const std::string& arguments) {
  const ScratchFolder scratch;
  const std::string err = scratch / "stderr";
  const std::string command = std::string("'") + FORERUN_BINARY + "' " + arguments + " 2>'" + err + "'";
  Answer run;
  FILE* pipe = ::popen(command.c_str(), "r");
  if (!pipe) return run;
  char block[4096];
  for (std::size_t n; (n = std::fread(block, 1, sizeof block, pipe)) > 0;) run.out.append(block, n);
  const int status = ::pclose(pipe);
  run.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  run.err = content_of(err);
  return run;
}

inline bool contains(const std::string& text, const std::string& part) { return text.find(part) != text.npos; }

}  // namespace testing_support
