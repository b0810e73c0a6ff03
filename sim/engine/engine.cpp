// SPDX-License-Identifier: Apache-2.0
#include "sim/engine/engine.h"

#include <algorithm>
#include <cmath>

#include "sim/engine/jitter.h"
#include "sim/engine/tournament.h"

namespace sim {
namespace {

constexpr int kStreams = plan::kStreams;
constexpr int kWindow = 1024;   // operators a host may be ahead of its device: the depth of CUDA's launch queue
constexpr Ticks kNever = Tournament::kNever;

enum class State : std::uint8_t { idle, blocked, unissued, meeting, running, parting };

/// An issued operator in its stream's queue.
struct Entry {
  Ticks issued;
  std::int32_t step;
  std::int32_t call;
  std::int32_t next;             // behind it in the stream; -1: none
  std::array<std::int32_t, plan::kMaxWaits> sequence;  // waits: that operator of ...
  std::array<std::int8_t, plan::kMaxWaits> stream;     // ... this stream; -1: none
};

struct StreamState {
  Ticks next = kNever;           // instant at which something happens to its head
  Ticks ready = 0, start = 0;
  double factor = 1;             // by which sharing stretches what runs
  std::int32_t head = -1, tail = -1;
  std::int32_t issued = 0, completed = 0;
  State state = State::idle;
  std::int8_t blocked_on = -1;
  std::int8_t cause = -1;
};

struct Recorded {
  std::int32_t sequence = -1;
  std::int8_t stream = -1;
};

struct Machine {
  std::array<StreamState, kStreams> streams;
  std::array<Recorded, plan::kEvents> events;
  std::array<std::int16_t, resource::kCount> busy{};   // operators that hold each resource
  std::array<double, kStreams> variance{};             // jitter since the last collective of each stream
  std::uint16_t running = 0;                           // streams, as bits
  Ticks host = 0;
  std::int32_t call = 0, step = -1;                    // next to issue
  std::int32_t free = 0;                               // first free entry
  std::int32_t outstanding = 0;
  bool host_waits = false, full = false;
  std::uint64_t samples = 0;
};

struct Meeting {
  std::int32_t arrived = 0, ended = 0;
  std::vector<std::pair<std::int32_t, std::int8_t>> members;   // instance, stream
};

class Run {
 public:
  explicit Run(const EngineInput& in)
      : in_(in),
        machines_(in.instances.size()),
        entries_(in.instances.size() * kWindow),
        meetings_(in.meeting_size.size()),
        clocks_(in.instances.size()) {
    out_.spans.resize(in.instances.size() * kStreams);
  }

  EngineOutput run();

 private:
  Entry& entry(int i, std::int32_t at) { return entries_[static_cast<std::size_t>(i) * kWindow + at]; }
  const Step& step_of(int i, const StreamState& s) { return in_.steps[entry(i, s.head).step]; }
  const std::vector<plan::Call>& calls(int i) const { return in_.plan->roles[in_.instances[i].role].calls; }

  void prepare(int i);
  void issue(int i);
  void push(int i, const Step& step, std::int32_t index);
  void consider(int i, int s, std::int8_t cause);
  void arrive(int i, int s);
  void start(int i, int s);
  void end(int i, int s);
  void complete(int i, int s);
  void hold(int i, int s, std::uint8_t resources, int change);
  void advance(int i);
  void refresh(int i);
  double factor(const Machine& m, std::uint8_t resources) const;
  Ticks stretched(int i, const Step& step, int s);

  const EngineInput& in_;
  std::vector<Machine> machines_;
  std::vector<Entry> entries_;
  std::vector<Meeting> meetings_;
  Tournament clocks_;
  Ticks now_ = 0;
  EngineOutput out_;
};

void Run::prepare(int i) {
  Machine& m = machines_[i];
  for (int e = 0; e < kWindow; ++e) entry(i, e).next = e + 1 < kWindow ? e + 1 : -1;
  m.host = in_.host_start;
  if (in_.instances[i].recorded) {
    std::array<std::size_t, kStreams> count{};
    for (const plan::Call& call : calls(i)) {
      for (std::int32_t at = in_.segment_begin[call.segment]; at < in_.segment_begin[call.segment + 1]; ++at) {
        ++count[in_.steps[at].stream];
      }
    }
    for (int s = 0; s < kStreams; ++s) out_.spans[static_cast<std::size_t>(i) * kStreams + s].reserve(count[s]);
  }
}

/// Issues until the window is full, the program ends, or the host has to wait for the device.
void Run::issue(int i) {
  Machine& m = machines_[i];
  const std::vector<plan::Call>& program = calls(i);
  if (m.full && m.host < now_) m.host = now_;   // it stood still until there was room
  m.full = false;
  while (!m.host_waits && m.call < static_cast<std::int32_t>(program.size())) {
    if (m.outstanding == kWindow) {
      m.full = true;
      return;
    }
    const std::int32_t segment = program[m.call].segment;
    if (m.step < 0) m.step = in_.segment_begin[segment];
    if (m.step == in_.segment_begin[segment + 1]) {
      ++m.call;
      m.step = -1;
      continue;
    }
    const std::int32_t index = m.step++;
    push(i, in_.steps[index], index);
  }
}

void Run::push(int i, const Step& step, std::int32_t index) {
  Machine& m = machines_[i];
  const std::int32_t at = m.free;
  Entry& e = entry(i, at);
  m.free = e.next;
  m.host += step.host;
  e.issued = m.host;
  e.step = index;
  e.call = m.call;
  e.next = -1;
  for (int w = 0; w < plan::kMaxWaits; ++w) {
    e.stream[w] = -1;
    if (step.waits[w] < 0) continue;
    const Recorded& event = m.events[step.waits[w]];
    if (event.stream < 0 || m.streams[event.stream].completed > event.sequence) continue;
    e.stream[w] = event.stream;
    e.sequence[w] = event.sequence;
  }
  StreamState& s = m.streams[step.stream];
  const Recorded mark{s.issued++, static_cast<std::int8_t>(step.stream)};
  m.events[step.stream] = mark;
  if (step.records >= 0) m.events[step.records] = mark;
  ++m.outstanding;
  if (step.synchronizes) m.host_waits = true;
  if (s.head < 0) {
    s.head = s.tail = at;
    consider(i, step.stream, -1);
  } else {
    entry(i, s.tail).next = at;
    s.tail = at;
  }
}

/// Lets the head of a stream go as far as it can. `cause`: the stream whose operator made this possible; -2 the host.
void Run::consider(int i, int s, std::int8_t cause) {
  Machine& m = machines_[i];
  StreamState& stream = m.streams[s];
  const Entry& e = entry(i, stream.head);
  for (int w = 0; w < plan::kMaxWaits; ++w) {
    if (e.stream[w] < 0 || m.streams[e.stream[w]].completed > e.sequence[w]) continue;
    stream.state = State::blocked;
    stream.blocked_on = e.stream[w];
    stream.next = kNever;
    return;
  }
  if (e.issued > now_) {
    stream.state = State::unissued;
    stream.next = e.issued;
    return;
  }
  stream.cause = cause;
  arrive(i, s);
}

void Run::arrive(int i, int s) {
  StreamState& stream = machines_[i].streams[s];
  stream.ready = now_;
  const Step& step = step_of(i, stream);
  const std::int32_t at = step.channel < 0 ? -1 : in_.meeting_of[i * in_.plan->channels.size() + step.channel];
  if (at < 0) return start(i, s);
  Meeting& meeting = meetings_[at];
  meeting.members.emplace_back(i, static_cast<std::int8_t>(s));
  stream.state = State::meeting;
  stream.next = kNever;
  if (++meeting.arrived < in_.meeting_size[at]) return;
  for (const auto& [member, on] : meeting.members) {
    start(member, on);
    if (member != i) refresh(member);
  }
}

double Run::factor(const Machine& m, std::uint8_t resources) const {
  using namespace resource;
  if ((resources & kCompute) != 0) return m.busy[1] > 0 ? in_.compute_slowdown : 1;
  double f = m.busy[0] > 0 && (resources & kCommunication) != 0 ? in_.communication_slowdown : 1;
  int sharing = 1;
  for (int r = 2; r < kCount; ++r) {
    if ((resources >> r & 1) != 0) sharing = std::max<int>(sharing, m.busy[r]);
  }
  return f * sharing;
}

/// Notes that an operator takes (+1) or leaves (-1) its resources and stretches or relaxes what runs beside it.
void Run::hold(int i, int s, std::uint8_t resources, int change) {
  Machine& m = machines_[i];
  if (resources == 0) return;
  for (int r = 0; r < resource::kCount; ++r) {
    if ((resources >> r & 1) != 0) m.busy[r] = static_cast<std::int16_t>(m.busy[r] + change);
  }
  for (unsigned others = m.running & ~(1u << s); others != 0; others &= others - 1) {
    StreamState& other = m.streams[__builtin_ctz(others)];
    const double f = factor(m, step_of(i, other).resources);
    if (f == other.factor) continue;
    other.next = now_ + std::llround(static_cast<double>(other.next - now_) / other.factor * f);
    other.factor = f;
  }
}

Ticks Run::stretched(int i, const Step& step, int s) {
  Machine& m = machines_[i];
  const Instance& instance = in_.instances[i];
  double duration = static_cast<double>(step.duration);
  if ((step.resources & resource::kCompute) != 0) duration *= instance.compute_factor;
  if ((step.resources & (resource::kNicIn | resource::kNicOut)) != 0) duration *= instance.network_factor;
  if (in_.jitter > 0) {
    if ((step.resources & resource::kCompute) != 0) {
      if (in_.folded) {
        for (double& v : m.variance) v += duration * duration;
      } else {
        duration *= std::max(0.0, 1 + in_.jitter * normal_sample(in_.seed, static_cast<std::uint64_t>(instance.rank), m.samples++));
      }
    } else if (in_.folded && step.members > 1) {
      duration += in_.jitter * expected_maximum(step.members) * std::sqrt(m.variance[s]);
      m.variance[s] = 0;
    }
  }
  return std::llround(duration);
}

void Run::start(int i, int s) {
  Machine& m = machines_[i];
  StreamState& stream = m.streams[s];
  const Step& step = step_of(i, stream);
  const bool plain = in_.jitter == 0 && in_.instances[i].compute_factor == 1 && in_.instances[i].network_factor == 1;
  const Ticks duration = plain ? step.duration : stretched(i, step, s);
  hold(i, s, step.resources, +1);
  stream.start = now_;
  stream.factor = factor(m, step.resources);
  stream.next = now_ + (stream.factor == 1 ? duration : std::llround(static_cast<double>(duration) * stream.factor));
  stream.state = State::running;
  m.running = static_cast<std::uint16_t>(m.running | 1u << s);
}

void Run::end(int i, int s) {
  Machine& m = machines_[i];
  StreamState& stream = m.streams[s];
  const Step& step = step_of(i, stream);
  m.running = static_cast<std::uint16_t>(m.running & ~(1u << s));
  hold(i, s, step.resources, -1);
  const std::int32_t at = step.channel < 0 ? -1 : in_.meeting_of[i * in_.plan->channels.size() + step.channel];
  if (at < 0) return complete(i, s);
  Meeting& meeting = meetings_[at];
  stream.state = State::parting;
  stream.next = kNever;
  if (++meeting.ended < in_.meeting_size[at]) return;
  const auto members = std::move(meeting.members);
  meeting.members.clear();
  meeting.arrived = meeting.ended = 0;
  for (const auto& [member, on] : members) {
    complete(member, on);
    if (member != i) refresh(member);
  }
}

void Run::complete(int i, int s) {
  Machine& m = machines_[i];
  StreamState& stream = m.streams[s];
  const std::int32_t done = stream.head;
  Entry& e = entry(i, done);
  const bool synchronizes = in_.steps[e.step].synchronizes;
  if (in_.instances[i].recorded) {
    trace::Span& span = out_.spans[static_cast<std::size_t>(i) * kStreams + s].emplace_back();
    span.ready = stream.ready;
    span.start = stream.start;
    span.end = now_;
    span.work = e.step;           // the caller turns it into name, layer and work
    span.microbatch = e.call;
    span.waited_for = stream.cause;
  }
  ++stream.completed;
  ++out_.completed;
  out_.end = std::max(out_.end, now_);
  stream.head = e.next;
  if (stream.head < 0) stream.tail = -1;
  stream.state = State::idle;
  stream.next = kNever;
  e.next = m.free;
  m.free = done;
  --m.outstanding;
  if (stream.head >= 0) consider(i, s, -1);
  for (int other = 0; other < kStreams; ++other) {
    StreamState& waiting = m.streams[other];
    if (waiting.state == State::blocked && waiting.blocked_on == s) consider(i, other, static_cast<std::int8_t>(s));
  }
  if (synchronizes) {
    m.host_waits = false;
    m.host = std::max(m.host, now_);
  }
  if (!m.host_waits && m.outstanding <= kWindow / 2) issue(i);
}

void Run::advance(int i) {
  Machine& m = machines_[i];
  for (int s = 0; s < kStreams; ++s) {
    if (m.streams[s].next != now_) continue;
    if (m.streams[s].state == State::running) {
      end(i, s);
    } else if (m.streams[s].state == State::unissued) {
      consider(i, s, -2);
    }
  }
  refresh(i);
}

void Run::refresh(int i) {
  Ticks earliest = kNever;
  for (const StreamState& stream : machines_[i].streams) earliest = std::min(earliest, stream.next);
  clocks_.set(i, earliest);
}

EngineOutput Run::run() {
  const int count = static_cast<int>(in_.instances.size());
  for (int i = 0; i < count; ++i) prepare(i);
  for (int i = 0; i < count; ++i) {
    issue(i);
    refresh(i);
  }
  while (clocks_.earliest() != kNever) {
    now_ = clocks_.earliest();
    advance(clocks_.winner());
  }
  for (const Machine& m : machines_) out_.deadlocked |= m.outstanding > 0;
  return std::move(out_);
}

}  // namespace

EngineOutput run(const EngineInput& in) { return Run(in).run(); }

}  // namespace sim
