// real/gpu/bench/kernel.cpp -- one operator alone, and over and over. SPDX-License-Identifier: Apache-2.0
#include <chrono>
#include <thread>

#include "real/gpu/bench/kit.h"
#include "real/gpu/bench/stopwatch.h"

namespace real {
namespace {

// A step is no matmul without a pause: three quarters of it draw a matmul's power, a quarter streams.
constexpr int kTogether = 2;                                                   // matmuls, some 3 ms
constexpr MemoryOperator kBetween{MemoryOperator::What::copy, 1 << 18, 4096};  // 1 ms

/// `times` runs of `work`, one behind the other; of one of them.
base::Seconds together(const Work& work, int times, const Kit& kit) {
  const Event begin(Event::Kind::timing), end(Event::Kind::timing);
  begin.record(kit.stream);
  for (int i = 0; i < times; ++i) work(kit.stream);
  end.record(kit.stream);
  end.synchronize();
  return elapsed(begin, end) / times;
}

/// As long again as the device was busy. Matmuls without a pause reach the board's power limit within a second, and
/// what is timed then runs at clocks that say nothing of the next run; `sustained` is timed apart.
base::Seconds cooled(base::Seconds busy) {
  std::this_thread::sleep_for(std::chrono::duration<double>(busy.si()));
  return busy;
}

}  // namespace

std::vector<base::Seconds> timed(const Work& work, Kit& kit, base::Seconds most) {
  return repeated(
      [&] {
        kit.arena.empty_caches();  // and the device is busy while the host issues what follows
        return cooled(together(work, 1, kit));
      },
      most);
}

std::vector<base::Seconds> timed(const Sustained&, Kit& kit, base::Seconds whole) {
  const Work work = prepared(kReferenceMatmul, kit), between = prepared(kBetween, kit);
  const Stopwatch watch;
  std::vector<base::Seconds> late;
  while (watch.passed() < whole) {
    between(kit.stream);
    const base::Seconds time = together(work, kTogether, kit);
    if (watch.passed() > whole * (2.0 / 3)) late.push_back(time);
  }
  return late;
}

}  // namespace real
