// SPDX-License-Identifier: Apache-2.0
#include "real/calibrate/drive.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <random>
#include <system_error>
#include <thread>
#include <vector>

#include "core/base/fault.h"
#include "core/base/text.h"
#include "real/executor/nameless_file.h"

namespace real {
namespace {

constexpr std::size_t kRequest = std::size_t{4} << 20, kAligned = 4096;
constexpr int kTogether = 16;
constexpr double kShareOfFree = 0.25;

[[noreturn]] void fail(const std::string& what, const std::string& folder, int error) {
  throw base::DeviceError("cannot " + what + " a file in '" + folder + "': " + std::generic_category().message(error));
}

class File {
 public:
  explicit File(const std::string& folder) : folder_(folder) {
    handle_ = nameless_file(folder);
    if (handle_ < 0) fail("make", folder, errno);
    direct_ = fcntl(handle_, F_SETFL, fcntl(handle_, F_GETFL) | O_DIRECT) == 0;
  }
  ~File() { close(handle_); }
  File(const File&) = delete;

  bool direct() const { return direct_; }
  void write(const std::byte* from, std::int64_t at) const {
    move("write", [&](std::size_t done) {
      return pwrite(handle_, from + done, kRequest - done, at + static_cast<off_t>(done));
    });
  }
  void read(std::byte* to, std::int64_t at) const {
    move("read",
         [&](std::size_t done) { return pread(handle_, to + done, kRequest - done, at + static_cast<off_t>(done)); });
  }
  /// The drives have all; no page of it stays.
  void settle() const {
    if (fdatasync(handle_) != 0) fail("write", folder_, errno);
    posix_fadvise(handle_, 0, 0, POSIX_FADV_DONTNEED);
  }

 private:
  template <class Moves>
  void move(const char* what, Moves moves) const {
    move_all(kRequest, moves, [&](int error) { fail(what, folder_, error != 0 ? error : EIO); });
  }
  std::string folder_;
  int handle_ = -1;
  bool direct_ = false;
};

using Buffer = std::unique_ptr<std::byte, decltype(&std::free)>;

/// Drives that compress would write zeros for nothing.
Buffer random_bytes(unsigned seed) {
  Buffer out(static_cast<std::byte*>(std::aligned_alloc(kAligned, kRequest)), &std::free);
  std::mt19937_64 random(seed);
  for (std::size_t i = 0; i < kRequest; i += sizeof(std::uint64_t)) {
    const std::uint64_t number = random();
    std::memcpy(out.get() + i, &number, sizeof number);
  }
  return out;
}

using Clock = std::chrono::steady_clock;
base::Seconds since(Clock::time_point begun) {
  return base::s(std::chrono::duration<double>(Clock::now() - begun).count());
}

/// Calls `request(buffer, number)` for 0, 1, ... on several threads, until `most` have been or the time is over; how
/// many were. Throws what the first that failed threw.
std::int64_t many(std::int64_t most, base::Seconds time, const std::function<void(std::byte*, std::int64_t)>& request) {
  std::atomic<std::int64_t> next = 0, done = 0;
  std::exception_ptr failure;
  std::mutex guard;
  std::vector<Buffer> buffers;  // filled before the clock starts
  for (int i = 0; i < kTogether; ++i) buffers.push_back(random_bytes(static_cast<unsigned>(i)));
  const Clock::time_point begun = Clock::now();
  const auto run = [&](std::byte* buffer) {
    try {
      while (since(begun) < time) {
        const std::int64_t number = next++;
        if (number >= most) return;
        request(buffer, number);
        ++done;
      }
    } catch (...) {
      const std::lock_guard lock(guard);
      if (!failure) failure = std::current_exception();
    }
  };
  {
    std::vector<std::jthread> threads;
    for (const Buffer& buffer : buffers) threads.emplace_back(run, buffer.get());
  }
  if (failure) std::rethrow_exception(failure);
  return done;
}

}  // namespace

DriveRates drive_rates(const std::string& folder, const DriveRun& run) {
  std::error_code error;
  const auto space = std::filesystem::space(folder, error);
  if (error) fail("make", folder, error.value());
  const double room = std::min(run.most.si(), kShareOfFree * static_cast<double>(space.available));
  const auto requests = static_cast<std::int64_t>(room / static_cast<double>(kRequest));
  if (requests < 1) fail("write", folder, ENOSPC);
  const File file(folder);
  const auto place = [](std::int64_t number) { return number * static_cast<std::int64_t>(kRequest); };

  Clock::time_point begun = Clock::now();
  const std::int64_t written =
      many(requests, run.time, [&](std::byte* from, std::int64_t i) { file.write(from, place(i)); });
  file.settle();
  const base::Seconds writing = since(begun);
  begun = Clock::now();
  const std::int64_t read = many(written, run.time, [&](std::byte* to, std::int64_t i) { file.read(to, place(i)); });
  const base::Seconds reading = since(begun);
  const auto bytes = [&](std::int64_t count) { return base::Bytes(static_cast<double>(place(count))); };
  return {bytes(read) / reading, bytes(written) / writing, bytes(written), file.direct()};
}

std::string text(const DriveRates& rates, const std::string& folder) {
  const auto rate = [](base::ByteRate r) { return fmt::format("{:.3g}GB/s", r.si() / 1e9); };
  return fmt::format(
      "drives behind {}: read {}, written {} ({}{})\n  for this machine's node: nvme: {{read: {}, write: {}}}\n",
      folder, base::human(rates.read), base::human(rates.write), base::human(rates.bytes),
      rates.past_cache ? "" : "; its file system has no O_DIRECT, so reads may come from the host's memory",
      rate(rates.read), rate(rates.write));
}

}  // namespace real
