// SPDX-License-Identifier: Apache-2.0
#include "cli/tool.h"

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <sstream>

#include "core/base/fault.h"

extern char** environ;

namespace cli {
namespace {

using File = std::unique_ptr<FILE, int (*)(FILE*)>;

bool on_path(const std::string& program) {
  const char* path = std::getenv("PATH");
  std::istringstream folders(path ? path : "");
  for (std::string folder; std::getline(folders, folder, ':');) {
    if (::access(((folder.empty() ? "." : folder) + '/' + program).c_str(), X_OK) == 0) return true;
  }
  return false;
}

[[noreturn]] void cannot_run(const std::string& option, const std::string& what, const std::string& mend) {
  throw base::InputError({{option, what, mend, {}}});
}

/// Not a pipe: a program that reads only after it has written cannot block us then.
File scratch_file(const std::string& option) {
  File file(std::tmpfile(), std::fclose);
  if (!file)
    cannot_run(option, std::string("cannot make a temporary file: ") + std::strerror(errno),
               "set TMPDIR, or free some room");
  return file;
}

std::string content_of(FILE* file) {
  std::rewind(file);
  std::string out;
  char block[65536];
  for (std::size_t n; (n = std::fread(block, 1, sizeof block, file)) > 0;) out.append(block, n);
  return out;
}

/// The exit status as waitpid() tells it, -1 when it could not be started.
int run(const Tool& tool, const std::vector<std::string>& arguments, FILE* in, FILE* out, FILE* err) {
  std::vector<char*> words{const_cast<char*>(tool.program.c_str())};
  for (const std::string& argument : arguments) words.push_back(const_cast<char*>(argument.c_str()));
  words.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, ::fileno(in), STDIN_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, ::fileno(out), STDOUT_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, ::fileno(err), STDERR_FILENO);
  pid_t child = 0;
  const int error = ::posix_spawnp(&child, words.front(), &actions, nullptr, words.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  int status = -1;
  if (error != 0) return -1;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

std::string last_of(const std::string& text) {
  constexpr std::size_t kEnough = 600;
  return text.size() <= kEnough ? text : "..." + text.substr(text.size() - kEnough);
}

}  // namespace

void require(const Tool& tool, const std::string& option) {
  if (on_path(tool.program)) return;
  cannot_run(option, "needs the program " + tool.program + ", which " + tool.does + "; it is not on the PATH",
             "install Debian's " + tool.package + " (apt-get install " + tool.package + ")");
}

std::string output_of(const Tool& tool, const std::vector<std::string>& arguments, const std::string& input,
                      const std::string& option) {
  require(tool, option);
  const File in = scratch_file(option), out = scratch_file(option), err = scratch_file(option);
  std::fwrite(input.data(), 1, input.size(), in.get());
  std::rewind(in.get());
  const int status = run(tool, arguments, in.get(), out.get(), err.get());
  if (status == 0) return content_of(out.get());
  cannot_run(option, tool.program + " failed: " + last_of(content_of(err.get())),
             "it may be too old; this was written for that of Debian 12's " + tool.package);
}

}  // namespace cli
