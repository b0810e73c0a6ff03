// SPDX-License-Identifier: Apache-2.0
#include "sim/search/pipeline_walk.h"

#include <algorithm>
#include <cstddef>

namespace sim {
namespace {

using plan::Pass;

class Walker {
 public:
  explicit Walker(const WalkInput& in)
      : in_(in),
        ended_(in.shape.passes.size()),
        arrived_(in.shape.passes.size()),
        stages_(in.shape.first_of.size() - 1) {
    for (std::size_t s = 0; s < stages_.size(); ++s) begin(s);
  }

  std::vector<StageEnd> run() {
    for (const std::int32_t step : in_.shape.walk) step % 2 == 1 ? travel(step / 2) : pass(step / 2);
    std::vector<StageEnd> out;
    for (const Stage& stage : stages_) {
      out.push_back({stage.first, stage.free, stage.exchanged, std::max(stage.sends[0].end, stage.sends[1].end)});
    }
    return out;
  }

 private:
  struct Flight {
    double start = 0, end = 0;
  };
  struct Stage {
    double free = 0;                         // end of its latest pass
    double busy_since = 0;                   // without a gap
    double input_came = 0;                   // that the host waited for last
    double gathered = 0;                     // when the parameters asked for so far have come
    double exchanging = 0;                   // since when the data-parallel stream flies without a gap
    double exchanged = 0;                    // when it is through
    double shared_until = 0;                 // up to where transfers have slowed it
    double arrived_late = 0;                 // blocking: when what it sent has arrived
    Flight sends[2] = {}, receives[2] = {};  // the latest of those streams, by direction
    double sending = 0;                      // how long its latest send lasts beyond the pass that made it
    double slowdown = 1;                     // of its latest pass beside a transfer
    double first = -1;
  };

  void begin(std::size_t number) {
    Stage& stage = stages_[number];
    stage.input_came = stage.gathered = stage.exchanged = stage.exchanging = stage.arrived_late = in_.begin;
    if (waits_first(number)) {
      const std::vector<Exchange>& gathers = in_.times[number * in_.chunks]->gathers;
      if (!gathers.empty()) stage.exchanged += gathers.front().time;
    } else {  // all gathers of the stage are issued at once
      for (int v = 0; v < in_.chunks; ++v) {
        for (const Exchange& gather : in_.times[number * in_.chunks + v]->gathers) {
          stage.exchanged += gather.time * in_.times[number * in_.chunks]->forward.exchange.other;
        }
      }
    }
    const double slowdown = in_.times[number * in_.chunks]->forward.exchange.pass;
    stage.free = beside(stage, in_.begin, in_.zeroing[number], slowdown);
  }

  /// Whether the host of a stage waits for an input before it issues the gathers of the first forward behind its first.
  bool waits_first(std::size_t stage) const {
    return in_.host_waits && in_.shape.passes[in_.shape.first_of[stage]].crosses;
  }

  static double overlap(const Flight& a, const Flight& b) {
    return std::max(0.0, std::min(a.end, b.end) - std::max(a.start, b.start));
  }

  /// What a flight takes longer that has half of the link until it or the data-parallel stream is through.
  static double beside_exchange(const Stage& stage, double start, double end) {
    const double from = std::max(start, stage.exchanging);
    return std::max(0.0, std::min(end, stage.exchanged) - from);
  }

  /// And what that takes longer.
  static void share(Stage& stage, double start, double end) {
    const double from = std::max({start, stage.exchanging, stage.shared_until});
    const double lost = std::min(std::max(0.0, end - from) / 2, std::max(0.0, stage.exchanged - from));
    stage.exchanged += lost;
    stage.gathered += lost;
    stage.shared_until = std::max(stage.shared_until, end);
  }

  void travel(std::int32_t number) {
    const ShapePass& to = in_.shape.passes[number];
    Stage &sender = stages_[in_.shape.passes[to.input].stage], &receiver = stages_[to.stage];
    const int way = to.downward ? 1 : 0;
    double start = std::max({ended_[to.input], sender.sends[way].end, receiver.receives[way].end});
    if (in_.blocking) start = std::max(start, receiver.free);
    double end = start + in_.transfer * (in_.blocking ? 1 : time_of(to).transfer.other);
    // What flies the other way out of the sender, or into the receiver, has half of the link meanwhile.
    end += std::max(overlap({start, end}, sender.sends[1 - way]), overlap({start, end}, receiver.receives[1 - way]));
    if (in_.shared_link) end += std::max(beside_exchange(sender, start, end), beside_exchange(receiver, start, end));
    sender.sends[way] = receiver.receives[way] = {start, end};
    if (in_.shared_link) {
      share(sender, start, end);
      share(receiver, start, end);
    }
    arrived_[number] = end;
    if (in_.blocking) {
      sender.arrived_late = std::max(sender.arrived_late, end);
    } else if (start < receiver.free) {  // the pass that ran meanwhile lost some of its pace
      const double beside = std::min(end, receiver.free) - std::max(start, receiver.busy_since);
      receiver.free += std::max(0.0, beside) * (1 - 1 / receiver.slowdown);
    }
  }

  void pass(std::int32_t number) {
    const ShapePass& p = in_.shape.passes[number];
    Stage& stage = stages_[p.stage];
    double start = stage.free;
    if (p.input >= 0) start = std::max(start, p.crosses ? arrived_[number] : ended_[p.input]);
    if (in_.blocking) start = std::max(start, stage.arrived_late);
    if (start > stage.free) stage.busy_since = start;
    const ChunkTimes& times = times_of(p);
    const PassTime& pass = time_of(p);
    double end = p.first  ? first_forward(stage, times, start)
                 : p.last ? last_backward(stage, times.reductions, start, pass, ends_stage(number))
                          : beside(stage, start, pass.time, pass.exchange.pass);
    if (!in_.blocking) {  // what the pass before sends is on its way
      end += std::max(0.0, stage.free + stage.sending - start) * (1 - 1 / pass.transfer.pass);
    }
    stage.sending = p.next >= 0 && in_.shape.passes[p.next].crosses ? in_.transfer * pass.transfer.other : 0;
    stage.slowdown = pass.transfer.pass;
    if (p.crosses) stage.input_came = start;
    if (stage.first < 0) stage.first = start;
    stage.free = ended_[number] = end;
  }

  bool ends_stage(std::int32_t number) const {
    return number + 1 == in_.shape.first_of[static_cast<std::size_t>(in_.shape.passes[number].stage) + 1];
  }
  const ChunkTimes& times_of(const ShapePass& p) const {
    return *in_.times[static_cast<std::size_t>(p.stage) * in_.chunks + p.chunk];
  }
  const PassTime& time_of(const ShapePass& p) const {
    const ChunkTimes& times = times_of(p);
    return p.pass == Pass::forward ? times.forward : p.pass == Pass::weight_gradient ? times.weights : times.backward;
  }

  /// The end of `time` of compute from `start`, slower until the data-parallel stream is through.
  static double beside(const Stage& stage, double start, double time, double slowdown) {
    if (stage.exchanged <= start) return start + time;
    if (start + time * slowdown <= stage.exchanged) return start + time * slowdown;
    return start + time + (stage.exchanged - start) * (1 - 1 / slowdown);
  }

  /// When the gathers of a first forward are through whose host waits for its input: the first is on its way before.
  static double gathers_awaited(const Stage& stage, const ChunkTimes& times, double start) {
    double end = std::max(stage.gathered, stage.input_came);
    for (std::size_t i = 0; i < times.gathers.size(); ++i) {
      const double time = times.gathers[i].time;
      end = i == 0 ? end + time : std::max(end, start) + time * times.forward.exchange.other;
    }
    return end;
  }

  double first_forward(Stage& stage, const ChunkTimes& times, double start) const {
    const PassTime& pass = times.forward;
    double at = start, done = 0;
    const bool waits = waits_first(static_cast<std::size_t>(&stage - stages_.data()));
    if (waits) stage.exchanged = gathers_awaited(stage, times, start);
    for (const Exchange& gather : times.gathers) {
      const bool ahead = waits && done == 0;  // of the input
      if (waits) stage.gathered = std::max(stage.gathered, ahead ? stage.input_came : start);
      stage.gathered += gather.time * (ahead || at < stage.gathered ? 1 : pass.exchange.other);
      at = std::max(at, stage.gathered);
      at = beside(stage, at, times.first_forward * (gather.share - done), pass.exchange.pass);
      done = gather.share;
    }
    return beside(stage, at, times.first_forward * (1 - done), pass.exchange.pass);
  }

  static double last_backward(Stage& stage, const std::vector<Exchange>& reductions, double start, const PassTime& pass,
                              bool ends_stage) {
    double at = start, done = 0;
    for (const Exchange& reduction : reductions) {
      at = beside(stage, at, pass.time * (reduction.share - done), pass.exchange.pass);
      done = reduction.share;
      if (stage.exchanged < at) stage.exchanging = at;
      stage.exchanged =
          std::max(stage.exchanged, at) + reduction.time * (done < 1 || !ends_stage ? pass.exchange.other : 1);
    }
    return beside(stage, at, pass.time * (1 - done), pass.exchange.pass);
  }

  const WalkInput& in_;
  std::vector<double> ended_, arrived_;
  std::vector<Stage> stages_;
};

}  // namespace

std::vector<StageEnd> walk(const WalkInput& in) { return Walker(in).run(); }

}  // namespace sim
