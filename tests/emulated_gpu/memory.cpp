// tests/emulated_gpu/memory.cpp -- see memory.h. SPDX-License-Identifier: Apache-2.0
#include "tests/emulated_gpu/memory.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <map>
#include <mutex>
#include <new>
#include <string>

#include "tests/emulated_gpu/block.h"
#include "tests/emulated_gpu/work.h"

namespace emulated_gpu {
namespace {

constexpr std::size_t kAlignment = 16;
constexpr unsigned char kSlack = 0xa5;                // before and after an array
constexpr std::size_t kSpace = std::size_t{1} << 45;  // addresses, of which few have memory
constexpr std::size_t kMostFilled = 16 << 20;  // libraries' workspaces are larger, and cost nothing until touched

enum class Life { reserved, open, closed };

struct Array {
  char* first;  // of the pages that may be touched; one that may not lies on either side
  std::size_t usable, bytes;
  int gpu;
  Life life = Life::reserved;
};

std::size_t page() {
  static const auto bytes = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  return bytes;
}

constexpr std::size_t in_units(std::size_t bytes, std::size_t unit) { return (bytes + unit - 1) / unit * unit; }

class Arrays {
 public:
  static Arrays& all() {
    static Arrays arrays;
    return arrays;
  }

  void* reserve(std::size_t bytes, int gpu) {
    const std::size_t rounded = in_units(bytes, kAlignment);
    const std::size_t usable = std::max(in_units(rounded, page()), page());
    const std::lock_guard lock(guard_);
    char* const first = next_ + page();
    if (static_cast<std::size_t>(first - space_) + usable + page() > kSpace) throw std::bad_alloc();
    next_ = first + usable;
    char* const array = first + usable - rounded;
    arrays_[array] = {first, usable, bytes, gpu};
    return array;
  }

  void open(void* address) {
    const std::lock_guard lock(guard_);
    Array& array = find(address);
    if (array.life == Life::open) throw Fault(fmt::format("an array of {} bytes is taken twice", array.bytes));
    array.life = Life::open;
    open_bytes_ += array.bytes;
    if (mprotect(array.first, array.usable, PROT_READ | PROT_WRITE) != 0) throw std::bad_alloc();
    if (array.bytes > kMostFilled) return;
    std::memset(array.first, kSlack, array.usable);
    std::memset(address, 0xff, array.bytes);
  }

  void close(void* address) {
    const std::lock_guard lock(guard_);
    Array& array = find(address);
    if (array.life != Life::open) throw Fault(fmt::format("an array of {} bytes is given back twice", array.bytes));
    array.life = Life::closed;
    open_bytes_ -= array.bytes;
    const char* end = static_cast<char*>(address) + array.bytes;
    const auto whole = [&](const char* from, const char* to) {
      if (array.bytes > kMostFilled) return true;
      return std::all_of(from, to, [](char c) { return static_cast<unsigned char>(c) == kSlack; });
    };
    const bool before = whole(array.first, static_cast<char*>(address));
    const bool after = whole(end, array.first + array.usable);
    forbid(array.first, array.usable);
    if (!before) throw Fault(fmt::format("something was written before an array of {} bytes", array.bytes));
    if (!after) throw Fault(fmt::format("something was written behind an array of {} bytes", array.bytes));
  }

  bool is_open(void* address) {
    const std::lock_guard lock(guard_);
    return find(address).life == Life::open;
  }

  void expect_within(const char* from, std::size_t bytes, int gpu, const char* what) {
    const std::lock_guard lock(guard_);
    const auto found = around(from);
    if (found == arrays_.end()) throw Fault(fmt::format("{} at an address that is no array's", what));
    const auto& [address, array] = *found;
    const std::size_t offset = static_cast<std::size_t>(from - address);
    if (array.gpu != gpu) {
      const auto name = [](int place) {
        return place == kHost ? std::string("the host") : fmt::format("GPU {}", place);
      };
      throw Fault(fmt::format("{} wants an array of {}, and this one is of {}", what, name(gpu), name(array.gpu)));
    }
    if (offset + bytes > array.bytes) {
      throw Fault(fmt::format("{} of bytes {} to {} of an array of {}", what, offset, offset + bytes, array.bytes));
    }
    if (array.life != Life::open) throw Fault(fmt::format("{} of an array{}", what, told(array)));
  }

  bool is_page_locked(const char* address) {
    const std::lock_guard lock(guard_);
    const auto found = around(address);
    return found != arrays_.end() && found->second.gpu == kHost;
  }

  std::size_t open_bytes() {
    const std::lock_guard lock(guard_);
    return open_bytes_;
  }

 private:
  Arrays() {
    void* const mapped = mmap(nullptr, kSpace, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mapped == MAP_FAILED) throw std::bad_alloc();
    space_ = next_ = static_cast<char*>(mapped);
    struct sigaction action {};
    action.sa_sigaction = [](int, siginfo_t* info, void*) {
      const std::string text = fmt::format(
          "memory is touched that is no array's: {}{}{}\n", all().nearest(static_cast<const char*>(info->si_addr)),
          in_a_kernel() ? ", by " + who_runs() : "", what_runs() ? ", by " + what_runs()->text() : "");
      if (write(STDERR_FILENO, text.data(), text.size()) < 0) _exit(2);
      signal(SIGSEGV, SIG_DFL);
      raise(SIGSEGV);
    };
    action.sa_flags = SA_SIGINFO | SA_NODEFER;
    sigaction(SIGSEGV, &action, nullptr);
  }

  /// Gives the memory back and keeps the addresses.
  static void forbid(char* first, std::size_t bytes) {
    constexpr int kFlags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED;
    if (mmap(first, bytes, PROT_NONE, kFlags, -1, 0) == MAP_FAILED) throw std::bad_alloc();
  }

  Array& find(void* address) {
    const auto found = arrays_.find(static_cast<char*>(address));
    if (found == arrays_.end()) throw Fault("an address is given that is no array's");
    return found->second;
  }

  std::map<char*, Array>::const_iterator around(const char* address) const {
    auto found = arrays_.upper_bound(const_cast<char*>(address));
    if (found == arrays_.begin()) return arrays_.end();
    --found;
    const Array& array = found->second;
    return address < array.first + array.usable + page() ? found : arrays_.end();
  }

  static std::string_view told(const Array& array) {
    switch (array.life) {
      case Life::reserved: return " that its stream has not taken yet";
      case Life::open: return "";
      case Life::closed: return " that was given back";
    }
    return "";
  }

  /// Where the address lies, for a program that is about to end, whoever holds the lock.
  std::string nearest(const char* address) const {
    for (const auto& [array, pages] : arrays_) {
      if (address < pages.first - page() || address >= pages.first + pages.usable + page()) continue;
      return fmt::format("{} bytes from the begin of an array of {}{}", address - array, pages.bytes, told(pages));
    }
    return "far from any array";
  }

  std::mutex guard_;
  char *space_ = nullptr, *next_ = nullptr;
  std::size_t open_bytes_ = 0;
  std::map<char*, Array> arrays_;
};

}  // namespace

void* reserve(std::size_t bytes, int gpu) { return Arrays::all().reserve(bytes, gpu); }
void open(void* array) { Arrays::all().open(array); }
void close(void* array) { Arrays::all().close(array); }
bool is_open(void* array) { return Arrays::all().is_open(array); }

void* allocate(std::size_t bytes, int gpu) {
  void* const array = reserve(bytes, gpu);
  open(array);
  return array;
}
void release(void* array) { close(array); }

void expect_within(const void* from, std::size_t bytes, int gpu, const char* what) {
  if (bytes > 0) Arrays::all().expect_within(static_cast<const char*>(from), bytes, gpu, what);
}
bool is_page_locked(const void* address) { return Arrays::all().is_page_locked(static_cast<const char*>(address)); }

std::size_t bytes_allocated() { return Arrays::all().open_bytes(); }

}  // namespace emulated_gpu
