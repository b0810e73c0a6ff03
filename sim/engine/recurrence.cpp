// SPDX-License-Identifier: Apache-2.0
#include "sim/engine/recurrence.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <limits>

namespace sim {
namespace {

using namespace machine;

/// Writes a state down.
class Writer {
 public:
  explicit Writer(std::vector<std::int64_t>& out) : out_(out) {}
  bool operator()(std::int64_t number) {
    out_.push_back(number);
    return true;
  }

 private:
  std::vector<std::int64_t>& out_;
};

/// Holds a state against one that was written down, up to the first number that differs.
class Comparer {
 public:
  explicit Comparer(const std::vector<std::int64_t>& known) : at_(known.data()), end_(at_ + known.size()) {}
  bool operator()(std::int64_t number) { return at_ != end_ && *at_++ == number; }
  bool at_end() const { return at_ == end_; }

 private:
  const std::int64_t *at_, *end_;
};

bool is_pending(const Machine& m, int stream, std::int32_t sequence) {
  return stream >= 0 && m.streams[stream].completed <= sequence;
}

/// An operator that is waited for, counted from the one that its stream completes next; -1: none that is to come.
std::int64_t wait_of(const Machine& m, int stream, std::int32_t sequence) {
  if (!is_pending(m, stream, sequence)) return -1;
  return std::int64_t{sequence - m.streams[stream].completed} * kStreams + stream;
}

/// What has passed is past: a host that was free earlier and an operator that was issued earlier are so now.
Ticks ahead(Ticks instant, Ticks now) { return std::max<Ticks>(instant - now, 0); }

/// In few numbers, for thousands may be queued.
template <class Note>
bool tell(const Machine& m, const Entry& e, Ticks now, Note& note) {
  int pending = 0;
  for (int w = 0; w < e.waits; ++w) pending += is_pending(m, e.stream[w], e.sequence[w]) ? 1 : 0;
  constexpr std::int64_t kSteps = std::int64_t{1} << 32;
  if (!note((m.call - e.call) * kSteps + e.step) || !note(ahead(e.issued, now) * (plan::kMaxWaits + 1) + pending)) {
    return false;
  }
  for (int w = 0; w < e.waits; ++w) {
    const std::int64_t wait = wait_of(m, e.stream[w], e.sequence[w]);
    if (wait >= 0 && !note(wait)) return false;
  }
  return true;
}

template <class Note>
bool tell(const Machine& m, int s, Ticks now, Note& note) {
  const StreamState& stream = m.streams[s];
  const Ticks next = m.next[s] == kNever ? -1 : instant_of(m.next[s]) - now;
  if (!note(static_cast<int>(stream.state)) || !note(next) || !note(stream.waiters)) return false;
  if (stream.waiters != 0 && !note(stream.wake - stream.completed)) return false;
  if (stream.state >= State::meeting && !(note(stream.cause) && note(stream.meeting) && note(stream.ready - now))) {
    return false;
  }
  if (stream.state >= State::running && !note(stream.start - now)) return false;
  if (stream.state == State::running) {
    const Progress& p = stream.progress;
    if (!note(std::bit_cast<std::int64_t>(p.left())) || !note(p.since() - now) ||
        !note(std::bit_cast<std::int64_t>(p.stretch()))) {
      return false;
    }
  }
  for (std::int16_t at = stream.head; at >= 0; at = m.entries[at].next) {
    if (!tell(m, m.entries[at], now, note)) return false;
  }
  return note(-1);
}

/// Holders and the streams that share follow from what runs.
template <class Note>
bool tell(const Machine& m, Ticks now, Note& note) {
  const int host = (m.host_waits ? 1 : 0) + (m.full ? 2 : 0);
  if (!note(host) || !note(m.outstanding) || !note(ahead(m.host, now))) return false;
  for (const Recorded& event : m.events) {
    if (!note(wait_of(m, event.stream, event.sequence))) return false;
  }
  for (int s = 0; s < kStreams; ++s) {
    if (!tell(m, s, now, note)) return false;
  }
  return true;
}

/// Its latest instant is that of the last to come, which is still to come.
template <class Note>
bool tell(const Meeting& meeting, const Machine* first, Note& note) {
  if (!note(meeting.arrived) || !note(meeting.ended)) return false;
  return std::all_of(meeting.members.begin(), meeting.members.end(),
                     [&](const Member& member) { return note(member.machine - first) && note(member.stream); });
}

/// All that what follows depends on, what differs soonest first.
template <class Note>
bool tell(std::span<const Machine> machines, std::span<const Meeting* const> meetings, Ticks now, Note& note) {
  for (const Machine& m : machines) {
    if (!note(m.step) || !note(m.step_end)) return false;
    const std::int64_t next = next_event(m);
    if (!note(next == kNever ? -1 : next - event_at(now, 0))) return false;
  }
  return std::all_of(machines.begin(), machines.end(), [&](const Machine& m) { return tell(m, now, note); }) &&
         std::all_of(meetings.begin(), meetings.end(),
                     [&](const Meeting* m) { return tell(*m, machines.data(), note); });
}

void shift(Machine& m, Ticks later, std::int32_t calls, const std::array<std::int32_t, kStreams>& operators) {
  const auto counted_on = [&](int stream, std::int32_t& sequence) {
    if (is_pending(m, stream, sequence)) sequence += operators[stream];
  };
  m.call += calls;
  m.host += later;
  for (Recorded& event : m.events) counted_on(event.stream, event.sequence);
  for (int s = 0; s < kStreams; ++s) {
    StreamState& stream = m.streams[s];
    for (std::int16_t at = stream.head; at >= 0; at = m.entries[at].next) {
      Entry& e = m.entries[at];
      e.issued += later;
      e.call += calls;
      for (int w = 0; w < e.waits; ++w) counted_on(e.stream[w], e.sequence[w]);
    }
    if (m.next[s] != kNever) m.next[s] += event_at(later, 0);
    stream.ready += later;
    stream.start += later;
    stream.progress.shift(later);
  }
  for (int s = 0; s < kStreams; ++s) {  // behind all that is counted from what was completed
    StreamState& stream = m.streams[s];
    stream.issued += operators[s];
    stream.completed += operators[s];
    if (stream.wake != kNobody) stream.wake += operators[s];
  }
}

/// Appends the spans from `first` on `times` more, each time later.
void repeat(std::vector<trace::Span>& spans, std::size_t first, std::int32_t times, Ticks period, std::int32_t calls) {
  const std::size_t count = spans.size() - first;
  spans.reserve(spans.size() + count * static_cast<std::size_t>(times));
  for (std::size_t k = count * static_cast<std::size_t>(times); k > 0; --k) {
    trace::Span span = spans[spans.size() - count];
    span.ready += period;
    span.start += period;
    span.end += period;
    span.microbatch += calls;  // the engine's spans hold their call there
    spans.push_back(span);
  }
}

}  // namespace

void Recurrence::forget() {
  for (Snapshot& old : snapshots_) old.taken = false;
}

void Recurrence::enter(std::span<Machine> machines, std::span<const Meeting* const> meetings, std::int64_t completed) {
  machines_ = machines;
  meetings_ = meetings;
  forget();
  looks_ = 0;
  due_ = 1;
  rested_ = completed;
  for (const Machine& m : machines_) rested_ += entered_ ? 2 * m.outstanding : 0;
  entered_ = true;
}

bool Recurrence::same(const Snapshot& before, Ticks now) const {
  Comparer compare(before.state);
  return tell(machines_, meetings_, now, compare) && compare.at_end();
}

void Recurrence::take(Snapshot& out, Ticks now, const EngineOutput& so_far) const {
  out.taken = true;
  out.at = now;
  out.completed = so_far.completed;
  out.places.resize(machines_.size());
  for (std::size_t i = 0; i < machines_.size(); ++i) {
    const Machine& m = machines_[i];
    out.places[i].call = m.call;
    for (int s = 0; s < kStreams; ++s) {
      out.places[i].completed[s] = m.streams[s].completed;
      out.places[i].spans[s] = m.spans[s].size();
    }
  }
  out.state.clear();
  Writer write(out.state);
  tell(machines_, meetings_, now, write);
}

/// How often every program goes on with the calls that it made since then.
std::int32_t Recurrence::repetitions(const Snapshot& before) const {
  std::int32_t least = std::numeric_limits<std::int32_t>::max();
  for (std::size_t i = 0; i < machines_.size(); ++i) {
    const std::vector<plan::Call>& calls = *machines_[i].program;
    const std::int32_t from = machines_[i].call + 1, period = machines_[i].call - before.places[i].call;
    if (period == 0) continue;
    std::int32_t at = from;
    while (at < static_cast<std::int32_t>(calls.size()) && calls[at].segment == calls[at - period].segment) ++at;
    least = std::min(least, (at - from) / period);
  }
  return least;
}

void Recurrence::copy(const Snapshot& before, std::int32_t times, Ticks period) {
  for (std::size_t i = 0; i < machines_.size(); ++i) {
    Machine& m = machines_[i];
    const Place& then = before.places[i];
    const std::int32_t calls = m.call - then.call;
    std::array<std::int32_t, kStreams> operators{};
    for (int s = 0; s < kStreams; ++s) {
      operators[s] = times * (m.streams[s].completed - then.completed[s]);
      repeat(m.spans[s], then.spans[s], times, period, calls);
    }
    const bool at_work = std::any_of(operators.begin(), operators.end(), [](std::int32_t count) { return count > 0; });
    if (at_work) m.reach.end += times * period;
    shift(m, times * period, times * calls, operators);
  }
}

bool Recurrence::leap(Ticks& now, EngineOutput& out) {
  ++looks_;
  for (Snapshot& before : snapshots_) {
    if (!before.taken || !same(before, now)) continue;
    const std::int32_t times = repetitions(before);
    if (times == 0) continue;
    const Ticks period = now - before.at;
    const std::int64_t copied = times * (out.completed - before.completed);
    copy(before, times, period);
    out.completed += copied;
    out.copied += copied;
    now += times * period;
    forget();
    looks_ = 0;
    due_ = 1;
    return true;
  }
  // A snapshot has to lie behind the transient and a period before now. At distances that grow by a quarter few are
  // taken, and a rhythm is found soon after its second repetition, wherever it begins (after Brent, BIT 20, 1980).
  // Where long queues make them large, they wait until as much was run as they take to write.
  if (looks_ < due_ || out.completed < rested_) return false;
  due_ = looks_ + looks_ / 4 + 1;
  take(snapshots_[next_], now, out);
  rested_ = out.completed;
  for (const Machine& m : machines_) rested_ += 2 * m.outstanding;
  next_ = (next_ + 1) % snapshots_.size();
  return false;
}

}  // namespace sim
