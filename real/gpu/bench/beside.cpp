// real/gpu/bench/beside.cpp -- interference: a kernel beside a copy that holds so many SMs, and that copy beside
// matmuls. The copy begins first, on an idle device, as blocks that want an SM each would otherwise wait for the other
// kernel's end. SPDX-License-Identifier: Apache-2.0
#include "kernels/copy_on_sms.h"
#include "real/gpu/bench/company.h"
#include "real/gpu/bench/stopwatch.h"

namespace real {
namespace {

constexpr std::int64_t kCopied = std::int64_t{256} << 20;  // bytes at a time, past the caches
constexpr double kOutlasts = 3;
constexpr base::Seconds kUntilItRuns = base::us(200);  // from a launch on an idle device, with much to spare

/// `times` copies of kCopied.
std::function<Work(int)> copies(int sms, Kit& kit) {
  const void* from = kit.arena.numbers(kCopied / 2, Filling::bf16);
  void* to = kit.arena.room(kCopied);
  return [=](int times) -> Work {
    return [=](const Stream& stream) {
      kernels::gpu::copy_on_sms(sms, from, to, static_cast<std::size_t>(kCopied), times, stream.get());
    };
  };
}

void let_it_begin() {
  const Stopwatch watch;
  while (watch.passed() < kUntilItRuns) {
  }
}

void idle(const Kit& kit) {
  kit.stream.synchronize();
  kit.other.synchronize();
}

std::vector<base::Seconds> beside_copy(const Work& subject, const Beside& what, Kit& kit, base::Seconds most) {
  const auto copy = copies(what.sms, kit);
  const int times = runs_to_outlast(alone(subject, kit) + kUntilItRuns, alone(copy(1), kit), kOutlasts);
  const Event begin(Event::Kind::timing), end(Event::Kind::timing), last;
  return repeated(
      [&] {
        idle(kit);
        copy(times)(kit.other);
        last.record(kit.other);
        let_it_begin();
        begin.record(kit.stream);
        subject(kit.stream);
        end.record(kit.stream);
        expect_outlasted(end, last);
        return elapsed(begin, end);
      },
      most);
}

std::vector<base::Seconds> of_copy(const Beside& what, Kit& kit, base::Seconds most) {
  const Work copy = copies(what.sms, kit)(1), matmul = prepared(kReferenceMatmul, kit);
  const int matmuls = what.crowded ? runs_to_outlast(alone(copy, kit), alone(matmul, kit), kOutlasts) : 0;
  const Event begin(Event::Kind::timing), end(Event::Kind::timing), last;
  return repeated(
      [&] {
        idle(kit);
        begin.record(kit.other);
        copy(kit.other);
        end.record(kit.other);
        for (int i = 0; i < matmuls; ++i) matmul(kit.stream);
        last.record(kit.stream);
        if (what.crowded) {
          expect_outlasted(end, last);
        } else {
          end.synchronize();
        }
        return elapsed(begin, end);
      },
      most);
}

}  // namespace

std::vector<base::Seconds> timed(const Beside& what, Kit& kit, base::Seconds most) {
  using Subject = Beside::Subject;
  if (what.subject == Subject::copy) return of_copy(what, kit, most);
  const Work subject = what.subject == Subject::matmul
                           ? prepared(kReferenceMatmul, kit)
                           : prepared(reference_attention(config::AttentionRow::Passes::forward), kit);
  return beside_copy(subject, what, kit, most);
}

}  // namespace real
