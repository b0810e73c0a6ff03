// SPDX-License-Identifier: Apache-2.0
#include "real/launch/spawn.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <iterator>
#include <optional>
#include <system_error>
#include <thread>

#include "core/base/fault.h"
#include "real/launch/deadline.h"
#include "real/launch/socket.h"
#include "real/launch/worker_exit.h"

extern char** environ;

namespace real {
namespace {

constexpr base::Seconds kGrace = base::s(5);      // between asking a rank to end and ending it
constexpr base::Seconds kLastWords = base::s(2);  // for the others to say why they end too, before they are asked to
constexpr std::chrono::milliseconds kNap{2};

/// This process's environment with the rank's own variables instead of those it may have inherited.
std::vector<std::string> environment_of(int rank, int ranks, int port) {
  const std::array<std::pair<std::string, std::string>, 7> own{{{"RANK", std::to_string(rank)},
                                                                {"WORLD_SIZE", std::to_string(ranks)},
                                                                {"LOCAL_RANK", std::to_string(rank)},
                                                                {"LOCAL_WORLD_SIZE", std::to_string(ranks)},
                                                                {"MASTER_ADDR", "127.0.0.1"},
                                                                {"MASTER_PORT", std::to_string(port)},
                                                                {kSkipVariable, "1"}}};
  std::vector<std::string> out;
  for (const auto& [name, value] : own) out.push_back(name + "=" + value);
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry, name = text.substr(0, text.find('='));
    bool replaced = name.starts_with("TORCHELASTIC_");
    for (const auto& variable : own) replaced = replaced || variable.first == name;
    if (!replaced) out.push_back(text);
  }
  return out;
}

std::vector<char*> pointers(const std::vector<std::string>& words) {
  std::vector<char*> out;
  for (const std::string& word : words) out.push_back(const_cast<char*>(word.c_str()));
  out.push_back(nullptr);
  return out;
}

/// After fork() only calls that are safe in a signal handler: other threads may have held locks.
[[noreturn]] void become(pid_t parent, const char* program, char* const* words, char* const* variables, int report) {
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (getppid() == parent) execve(program, words, variables);
  const int error = errno;
  [[maybe_unused]] const ssize_t done = write(report, &error, sizeof error);
  _exit(127);
}

pid_t start(int rank, int ranks, int port, const std::vector<std::string>& command) {
  const auto environment = environment_of(rank, ranks, port);
  const auto words = pointers(command), variables = pointers(environment);
  std::array<int, 2> ends{};
  if (pipe2(ends.data(), O_CLOEXEC) != 0)
    throw base::DeviceError("cannot make a pipe: " + std::generic_category().message(errno));
  const Socket from_child(ends[0]);
  Socket to_parent(ends[1]);
  const pid_t parent = getpid(), child = fork();
  if (child == 0) become(parent, command[0].c_str(), words.data(), variables.data(), to_parent.fd());
  int error = errno;
  to_parent = Socket();  // so that reading ends when the child has become the command
  if (child > 0 && read(from_child.fd(), &error, sizeof error) != sizeof error) return child;
  if (child > 0) waitpid(child, nullptr, 0);
  throw base::DeviceError(fmt::format("cannot start {}: {}", command[0], std::generic_category().message(error)));
}

class Ranks {
 public:
  ~Ranks() {
    tell(SIGTERM);
    wait_or_kill();
  }
  void add(pid_t process) { running_.push_back(process); }
  bool any() const {
    for (const pid_t process : running_) {
      if (process > 0) return true;
    }
    return false;
  }
  /// Those that have failed since the last look.
  std::vector<Ended> failures() {
    std::vector<Ended> out;
    for (std::size_t rank = 0; rank < running_.size(); ++rank) {
      int status = 0;
      if (running_[rank] <= 0 || waitpid(running_[rank], &status, WNOHANG) != running_[rank]) continue;
      running_[rank] = 0;
      const int signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
      const int code = signal ? 128 + signal : WEXITSTATUS(status);
      if (code != 0) out.push_back({static_cast<int>(rank), code, signal});
    }
    return out;
  }

 private:
  void tell(int signal) const {
    for (const pid_t process : running_) {
      if (process > 0) kill(process, signal);
    }
  }
  void wait_or_kill() {
    for (const Deadline end = Deadline::in(kGrace); any() && !end.passed(); std::this_thread::sleep_for(kNap))
      failures();
    tell(SIGKILL);
    for (const pid_t process : running_) {
      if (process > 0) waitpid(process, nullptr, 0);
    }
  }
  std::vector<pid_t> running_;  // by rank; 0 once it has ended
};

}  // namespace

std::string to_string(const Ended& ended) {
  if (ended.signal == 0) return fmt::format("rank {} ended with exit status {}", ended.rank, ended.exit_status);
  return fmt::format("rank {} was ended by signal {} ({})", ended.rank, ended.signal, strsignal(ended.signal));
}

std::vector<Ended> spawn(int ranks, const std::vector<std::string>& command) {
  const int port = port_of(listen_on(0));  // free a moment ago
  Ranks running;                           // whatever happens, none of them is left behind
  for (int rank = 0; rank < ranks; ++rank) running.add(start(rank, ranks, port, command));
  std::vector<Ended> failed;
  // A rank may see that another is gone, and end, before the kernel tells us of the one that ended first.
  for (std::optional<Deadline> end; running.any() && !(end && end->passed()); std::this_thread::sleep_for(kNap)) {
    std::ranges::move(running.failures(), std::back_inserter(failed));
    if (!failed.empty() && !end) end = Deadline::in(kLastWords);
  }
  return failed;
}

}  // namespace real
