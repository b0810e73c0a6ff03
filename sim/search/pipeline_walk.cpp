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
      out.push_back({stage.first, stage.free, stage.exchange.end, std::max(stage.sends[0].end, stage.sends[1].end)});
    }
    return out;
  }

 private:
  struct Flight {
    double start = 0, end = 0;
  };
  struct Stage {
    std::int32_t running = -1;               // its latest pass
    double busy_since = 0, free = 0;         // since when there is no gap; end of that
    double slowdown = 1;                     // of that beside a transfer
    double input_came = 0;                   // that the host waited for last
    double gathered = 0;                     // when the parameters asked for so far have come
    Flight exchange;                         // of the data-parallel stream, as long as there is no gap
    double shared_until = 0;                 // up to where transfers have slowed that
    double arrived_late = 0;                 // blocking: when what it sent has arrived
    Flight sends[2] = {}, receives[2] = {};  // the latest of those streams, by direction
    double first = -1;
  };

  void begin(std::size_t number) {
    Stage& stage = stages_[number];
    stage.input_came = stage.gathered = stage.arrived_late = in_.begin;
    stage.exchange = {in_.begin, in_.begin};
    if (waits_first(number)) {
      const std::vector<Exchange>& gathers = in_.times[number * in_.chunks]->gathers;
      if (!gathers.empty()) stage.exchange.end += gathers.front().time;
    } else {  // all gathers of the stage are issued at once
      for (int v = 0; v < in_.chunks; ++v) {
        for (const Exchange& gather : in_.times[number * in_.chunks + v]->gathers) {
          stage.exchange.end += gather.time * in_.times[number * in_.chunks]->forward.exchange.other;
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

  void travel(std::int32_t number) {
    const ShapePass& to = in_.shape.passes[number];
    Stage &sender = stages_[in_.shape.passes[to.input].stage], &receiver = stages_[to.stage];
    const int way = to.downward ? 1 : 0;
    double start = std::max({ended_[to.input], sender.sends[way].end, receiver.receives[way].end});
    if (in_.blocking) start = std::max(start, receiver.free);
    double end = start + in_.transfer * (in_.blocking ? 1 : time_of(to).transfer.other);
    // What flies the other way out of the sender, or into the receiver, has half of the link meanwhile.
    end += std::max(overlap({start, end}, sender.sends[1 - way]), overlap({start, end}, receiver.receives[1 - way]));
    if (in_.shared_link) {
      end += std::max(overlap({start, end}, sender.exchange), overlap({start, end}, receiver.exchange));
    }
    const Flight flight{start, end};
    sender.sends[way] = receiver.receives[way] = {};
    for (Stage* stage : {&sender, &receiver}) {
      if (in_.shared_link) slow_exchange(*stage, flight);
      if (!in_.blocking) slow_pass(*stage, flight);
    }
    sender.sends[way] = receiver.receives[way] = flight;
    arrived_[number] = end + time_of(to).late;
    if (in_.blocking) sender.arrived_late = std::max(sender.arrived_late, end);
  }

  /// The data-parallel stream has half of the link beside a transfer, or two in either direction.
  static void slow_exchange(Stage& stage, const Flight& flight) {
    const double from = std::max({flight.start, stage.exchange.start, stage.shared_until});
    const double lost = std::max(0.0, std::min((flight.end - from) / 2, stage.exchange.end - from));
    stage.exchange.end += lost;
    stage.gathered += lost;
    stage.shared_until = std::max(stage.shared_until, flight.end);
  }

  /// How long any of a stage's latest transfers flies in a span of time.
  static double flying(const Stage& stage, double from, double to) {
    double out = 0;
    while (from < to) {
      double until = from, next = to;
      for (const Flight* f : {&stage.sends[0], &stage.sends[1], &stage.receives[0], &stage.receives[1]}) {
        if (f->start <= from) until = std::max(until, f->end);
        if (f->start > from) next = std::min(next, f->start);
      }
      if (until > from) {
        out += std::min(until, to) - from;
        from = until;
      } else {
        from = next;
      }
    }
    return out;
  }

  /// What ran meanwhile lost some of its pace, unless something else had slowed it already.
  void slow_pass(Stage& stage, const Flight& flight) {
    const double from = std::max({flight.start, stage.busy_since, stage.exchange.end});
    if (stage.running < 0 || stage.free <= from) return;
    const double to = std::min(flight.end, from + (stage.free - from) * stage.slowdown);
    if (to <= from) return;
    const double lost = (to - from - flying(stage, from, to)) * (1 - 1 / stage.slowdown);
    stage.free += lost;
    ended_[stage.running] += lost;
  }

  void pass(std::int32_t number) {
    const ShapePass& p = in_.shape.passes[number];
    Stage& stage = stages_[p.stage];
    double start = stage.free;
    if (p.input >= 0) start = std::max(start, p.crosses ? arrived_[number] : ended_[p.input]);
    if (in_.blocking) start = std::max(start, stage.arrived_late);
    const ChunkTimes& times = times_of(p);
    const PassTime& pass = time_of(p);
    double end = p.first  ? first_forward(stage, times, start)
                 : p.last ? last_backward(stage, times.reductions, start, pass, ends_stage(number))
                          : beside(stage, start, pass.time, pass.exchange.pass);
    stage.running = number;
    if (start > stage.free) stage.busy_since = start;
    stage.slowdown = pass.transfer.pass;
    if (!in_.blocking) end += lost(stage, start, end);
    if (p.crosses) stage.input_came = start;
    if (stage.first < 0) stage.first = start;
    stage.free = ended_[number] = end;
  }

  /// What a pass takes longer beside the transfers that are on their way.
  static double lost(const Stage& stage, double start, double end) {
    const double from = std::max(start, stage.exchange.end);
    if (from >= end) return 0;
    return flying(stage, from, from + (end - from) * stage.slowdown) * (1 - 1 / stage.slowdown);
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
    if (stage.exchange.end <= start) return start + time;
    if (start + time * slowdown <= stage.exchange.end) return start + time * slowdown;
    return start + time + (stage.exchange.end - start) * (1 - 1 / slowdown);
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
    if (waits) stage.exchange.end = gathers_awaited(stage, times, start);
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
      if (stage.exchange.end < at) stage.exchange.start = at;
      stage.exchange.end =
          std::max(stage.exchange.end, at) + reduction.time * (done < 1 || !ends_stage ? pass.exchange.other : 1);
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
