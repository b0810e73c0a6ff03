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
#include <new>

#include "tests/emulated_gpu/block.h"

namespace emulated_gpu {
namespace {

constexpr std::size_t kAlignment = 16;
constexpr unsigned char kSlack = 0xa5;  // before and after an array

struct Pages {
  char* first;  // of the pages that may be touched; one that may not lies on either side
  std::size_t bytes, array_bytes;
};

std::size_t page() {
  static const auto bytes = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  return bytes;
}

class Arrays {
 public:
  static Arrays& all() {
    static Arrays arrays;
    return arrays;
  }

  void* allocate(std::size_t bytes) {
    const std::size_t rounded = (bytes + kAlignment - 1) / kAlignment * kAlignment;
    const std::size_t usable = std::max<std::size_t>(1, (rounded + page() - 1) / page()) * page();
    void* mapped = mmap(nullptr, usable + 2 * page(), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapped == MAP_FAILED) throw std::bad_alloc();
    char* first = static_cast<char*>(mapped) + page();
    mprotect(first, usable, PROT_READ | PROT_WRITE);
    char* array = first + usable - rounded;
    std::memset(first, kSlack, usable);
    std::memset(array, 0xff, bytes);
    pages_[array] = {first, usable, bytes};
    return array;
  }

  void release(void* array) {
    const auto found = pages_.find(array);
    if (found == pages_.end()) throw Fault("an address is freed that is no array's");
    const Pages pages = found->second;
    const char* end = static_cast<char*>(array) + pages.array_bytes;
    const auto whole = [](const char* from, const char* to) {
      return std::all_of(from, to, [](char c) { return static_cast<unsigned char>(c) == kSlack; });
    };
    const bool before = whole(pages.first, static_cast<char*>(array)), after = whole(end, pages.first + pages.bytes);
    munmap(pages.first - page(), pages.bytes + 2 * page());
    pages_.erase(found);
    if (!before) throw Fault(fmt::format("something was written before an array of {} bytes", pages.array_bytes));
    if (!after) throw Fault(fmt::format("something was written behind an array of {} bytes", pages.array_bytes));
  }

  std::size_t bytes() const {
    std::size_t sum = 0;
    for (const auto& [array, pages] : pages_) sum += pages.array_bytes;
    return sum;
  }

  /// Where the address lies, for a program that is about to end.
  std::string nearest(const char* address) const {
    for (const auto& [array, pages] : pages_) {
      const char* begin = pages.first - page();
      if (address < begin || address >= pages.first + pages.bytes + page()) continue;
      return fmt::format("{} bytes from the begin of an array of {}", address - static_cast<char*>(array),
                         pages.array_bytes);
    }
    return "far from any array";
  }

 private:
  Arrays() {
    struct sigaction action {};
    action.sa_sigaction = [](int, siginfo_t* info, void*) {
      const std::string text = fmt::format("memory is touched that is no array's: {}{}\n",
                                           all().nearest(static_cast<const char*>(info->si_addr)),
                                           in_a_kernel() ? ", by " + who_runs() : "");
      if (write(STDERR_FILENO, text.data(), text.size()) < 0) _exit(2);
      signal(SIGSEGV, SIG_DFL);
      raise(SIGSEGV);
    };
    action.sa_flags = SA_SIGINFO | SA_NODEFER;
    sigaction(SIGSEGV, &action, nullptr);
  }

  std::map<void*, Pages> pages_;
};

}  // namespace

void* allocate(std::size_t bytes) { return Arrays::all().allocate(bytes); }
void release(void* array) { Arrays::all().release(array); }
std::size_t bytes_allocated() { return Arrays::all().bytes(); }

}  // namespace emulated_gpu
