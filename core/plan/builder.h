// core/plan/builder.h -- the pen that plans are written with: interns works and names, appends operators to a segment,
// notes what memory they take and give back.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/plan/layer_copies.h"
#include "core/plan/plan.h"

namespace plan {

/// Guesses the number asked for next: layers repeat, so what came behind a number once mostly does again.
class Habit {
 public:
  std::int32_t guess() const { return followers_[latest_]; }  // -1: none
  void learn(std::int32_t number) {
    followers_[latest_] = number;
    latest_ = static_cast<std::size_t>(number) + 1;
    if (followers_.size() <= latest_) followers_.resize(latest_ + 1, -1);
  }

 private:
  std::size_t latest_ = 0;  // one above the number; 0: none yet
  std::vector<std::int32_t> followers_ = std::vector<std::int32_t>(1, -1);
};

/// Works, names and channels of one Plan; equal ones share a number.
class Pool {
 public:
  explicit Pool(Plan& plan) : plan_(plan) {}
  std::int32_t work(const Work&);
  std::int32_t name(std::string_view);
  std::int16_t channel(const Channel&);
  LayerCopies& layers() { return layers_; }

 private:
  Plan& plan_;
  std::int32_t find_work(const Work&);
  std::int32_t find_name(std::string_view);

  std::map<Work, std::int32_t> works_;
  std::map<std::string, std::int32_t, std::less<>> names_;
  Habit work_habit_, name_habit_;
  LayerCopies layers_;
};

/// Appends to one segment. Operators keep the order of the calls; memory changes stick to the operator before or after.
class SegmentBuilder {
 public:
  SegmentBuilder(Pool& pool, std::string name) : pool_(pool) { segment_.name = std::move(name); }

  Phase phase = Phase::forward;   // of operators appended from now on
  std::int16_t layer = -1;        // likewise
  std::int8_t module = 0;         // likewise
  bool first_microbatch = false;  // of the step: weights are cast to narrow formats
  bool adds_gradients = false;    // a sum of gradients lies on the host (offload.h)

  /// Compute on the compute stream, after everything before it there, `waits` (streams) and what join() noted.
  void compute(const Work&, std::string_view name, int launches = 1, std::initializer_list<Stream> waits = {});
  /// Communication on `stream` after the latest operator of each of `waits`.
  void communicate(const Work&, std::string_view name, Stream stream, std::int16_t channel,
                   std::initializer_list<Stream> waits, int launches = 1);
  /// Work on another stream that the host's launches do not pay for (a loader's thread, a copy engine), after the
  /// latest operator of each of `waits`.
  void beside(const Work&, std::string_view name, Stream stream, std::initializer_list<Stream> waits);
  /// The same after the latest record of each of `waits`; -1: none.
  void beside_events(const Work&, std::string_view name, Stream stream, std::initializer_list<EventId> waits);
  /// The next compute operator also waits for the latest operator issued on `stream` before this call.
  void join(Stream stream) { join(event_of(stream)); }
  void join(EventId event) { joined_ |= std::uint64_t{1} << event; }
  /// The compute stream waits here for what join() noted, in front of what is recorded until its next operator.
  void await_joined() { await_joined(0); }
  /// The latest operator also records `event` (one at or above kStreams).
  void record(EventId event) { segment_.operators.back().records = event; }

  /// The latest compute operator also records `event`. REQUIRES: there is one.
  void record_compute(EventId event);
  /// The latest operator also waits for `event`.
  void wait(EventId event);
  /// So many of the latest operator's elements are padding.
  void pad(std::int64_t elements) { segment_.operators.back().padding = static_cast<std::uint16_t>(elements); }

  void take(Category, std::int64_t bytes, bool apart = false);  // allocated before the next operator
  void give(Category, std::int64_t bytes, bool apart = false);  // released after the latest operator

  void hold_on_host(std::int64_t bytes) { segment_.host_bytes += bytes; }  // negative: no longer

  /// From now on weight gradients go to `weights`, to be run later, and this segment keeps what they read.
  void defer_weights(SegmentBuilder* weights) { weights_ = weights; }
  /// From now on weight gradients wait for run_weights(), which appends them here; until then `weights` has them.
  void delay_weights(SegmentBuilder* weights) {
    weights_ = weights;
    delays_ = true;
  }
  void run_weights();  // without effect where none are delayed
  /// Where weight gradients are written: a segment of their own, or this one. Whatever else is written in a backward,
  /// the next stage waits for.
  SegmentBuilder& weights();
  /// What the weight gradient just written to weights() reads (its layer's input and output gradient): held from here
  /// until it has run. Without effect when it runs here.
  void retain(std::int64_t bytes);
  /// give(), less what was retained since the last time: it was part of `bytes` and is released with the weights.
  void give_unretained(Category, std::int64_t bytes);

  /// `write` appends a layer of that kind to this pen. Where one was written from the same state before, what it wrote
  /// is appended instead. REQUIRES: what it writes depends on the kind, the state and the Context alone.
  void layer_of(const LayerKind&, const std::function<void()>& write);

  Pool& pool() { return pool_; }
  bool empty() const { return segment_.operators.empty(); }
  const std::vector<Operator>& written() const { return segment_.operators; }
  Segment finish() { return std::move(segment_); }

 private:
  Operator& append(const Work&, std::string_view name, Stream stream, int launches);
  /// Leaves no more than `most` joined events to the next operator; the compute stream waits for the others now.
  void await_joined(int most);
  PensState state() const;
  LayerCopy write_layer(const std::function<void()>& write);
  void append(const Passage&, std::int16_t written_layer);

  Pool& pool_;
  Segment segment_;
  static_assert(kEvents <= 64);
  std::uint64_t joined_ = 0;  // a bit an event
  SegmentBuilder* weights_ = nullptr;
  bool delays_ = false;
  std::int64_t retained_ = 0;
};

}  // namespace plan
