// SPDX-License-Identifier: Apache-2.0
#include "sim/economics/failure_simulation.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <queue>
#include <vector>

namespace sim {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

/// A cycle is work of one interval and the standstill behind it; longer where the checkpoint before is not yet safe.
class Run {
 public:
  Run(const RunModel& model, double work, Random& random)
      : m_(model),
        random_(random),
        work_(work),
        interval_(model.interval.si()),
        write_(model.write.si()),
        beside_(model.written_beside.si()) {}

  RunOutcome run() {
    draw_spell();
    while (!train(m_.failures.si() > 0 ? random_.exponential(1 / m_.failures.si()) : kNever)) fail();
    out_.time = base::s(now_);
    return out_;
  }

 private:
  /// Until the run is done (true) or `until` has passed, spell by spell.
  bool train(double until) {
    while (true) {
      const double next = std::min(until, change_);
      advance(next);
      if (done()) return true;
      until -= next;
      change_ -= next;
      if (until <= 0) return false;
      slow_ = !slow_;
      draw_spell();
    }
  }

  bool done() const { return saved_ >= work_; }
  bool last_segment() const { return work_ - begun_ <= interval_; }
  double segment() const { return last_segment() ? work_ - begun_ : interval_; }

  void draw_spell() {
    if (!m_.stragglers) return;
    change_ = slow_ ? m_.stragglers->lasts.si() : random_.exponential(m_.stragglers->mtbf.si());
  }

  /// `left` seconds of training at the present pace, or as many as the run still takes.
  void advance(double left) {
    const double pace = slow_ ? m_.stragglers->slowdown : 1;
    skip_whole_cycles(left, pace);
    while (left > 0 && !done()) {
      const double work = segment();
      if (done_ < work) {
        const double used = std::min(left, (work - done_) * pace);
        done_ = used < left ? work : std::min(work, done_ + used / pace);
        out_.slow += base::s(used * (1 - 1 / pace));
        spend(left, used);
      } else if (standstill_ < write_) {
        const double used = std::min(left, write_ - standstill_);
        standstill_ = used < left ? write_ : standstill_ + used;
        out_.checkpoints += base::s(used);
        spend(left, used);
      } else if (pending_ > 0) {
        const double used = std::min(left, pending_);
        out_.checkpoints += base::s(used);
        spend(left, used);
      } else {
        end_segment(work);
      }
    }
  }

  /// From the begin of a segment, without looking into them; not the last one, which may be shorter.
  void skip_whole_cycles(double& left, double pace) {
    const double cycle = interval_ * pace + write_;
    if (done_ > 0 || standstill_ > 0 || std::max(pending_, beside_) > cycle) return;
    const double cycles = std::min(std::floor(left / cycle), std::ceil((work_ - begun_) / interval_) - 1);
    if (!(cycles >= 1)) return;
    begun_ += cycles * interval_;
    pending_ = beside_;
    saved_ = beside_ > 0 ? begun_ - interval_ : begun_;
    out_.checkpoints += base::s(cycles * write_);
    out_.slow += base::s(cycles * interval_ * (pace - 1));
    now_ += cycles * cycle;
    left = std::max(0.0, left - cycles * cycle);
  }

  void spend(double& left, double used) {
    now_ += used;
    left -= used;
    if (pending_ <= 0) return;
    pending_ = std::max(0.0, pending_ - used);
    if (pending_ <= 0) saved_ = begun_;
  }

  /// Copied, and the checkpoint before is safe: this one is written now. The run ends with its last one.
  void end_segment(double work) {
    const bool last = last_segment();
    begun_ = last ? work_ : begun_ + work;
    done_ = standstill_ = 0;
    pending_ = last ? 0 : beside_;
    if (last) now_ += beside_;
    if (pending_ <= 0) saved_ = begun_;
  }

  void fail() {
    ++out_.failures;
    out_.lost += base::s(begun_ + done_ - saved_);
    begun_ = saved_;
    done_ = standstill_ = pending_ = 0;
    slow_ = false;
    const double wait = m_.hardware > 0 && random_.uniform() < m_.hardware ? wait_for_node() : 0;
    out_.down += base::s(wait + m_.restart.si());
    now_ += wait + m_.restart.si();
    draw_spell();
  }

  /// A node goes to repair; until a spare or the first repaired one can stand in for it.
  double wait_for_node() {
    repaired_.push(now_ + m_.repair.si());
    while (!repaired_.empty() && repaired_.top() <= now_) repaired_.pop();
    if (static_cast<int>(repaired_.size()) <= m_.spares) return 0;
    const double back = repaired_.top();
    repaired_.pop();
    return back - now_;
  }

  const RunModel& m_;
  Random& random_;
  const double work_, interval_, write_, beside_;
  double now_ = 0;
  double saved_ = 0;  // work that no failure can take away
  double begun_ = 0;  // work in front of the present segment
  double done_ = 0;   // of the present segment
  double standstill_ = 0;
  double pending_ = 0;  // until the checkpoint of `begun_` is safe
  bool slow_ = false;
  double change_ = kNever;  // until a slow spell begins or ends
  std::priority_queue<double, std::vector<double>, std::greater<>> repaired_;
  RunOutcome out_;
};

}  // namespace

RunOutcome simulate_run(const RunModel& model, base::Seconds work, Random& random) {
  return Run(model, work.si(), random).run();
}

std::optional<Rhythm> closed_form(const RunModel& m) {
  if (m.stragglers || m.written_beside.si() > 0) return {};
  const base::Seconds wait = m.repair * m.hardware;
  if (wait.si() > 0 && m.spares > 0) return {};
  return Rhythm{m.failures, m.interval, m.write, m.restart + wait};
}

}  // namespace sim
