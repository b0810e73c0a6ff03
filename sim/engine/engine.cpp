// SPDX-License-Identifier: Apache-2.0
#include "sim/engine/engine.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "sim/engine/jitter.h"
#include "sim/engine/sharing.h"
#include "sim/engine/tournament.h"

namespace sim {
namespace {

constexpr int kStreams = plan::kStreams;
constexpr int kWindow = 1024;   // operators a host may be ahead of its device: the depth of CUDA's launch queue
constexpr Ticks kNever = Tournament::kNever;
constexpr std::int8_t kNothing = -1, kHost = -2;   // Span::waited_for, besides streams

enum class State : std::uint8_t { idle, blocked, unissued, meeting, running, parting };

/// An issued operator in its stream's queue.
struct Entry {
  Ticks issued;
  std::int32_t step, call;
  std::int32_t next;             // behind it in the stream; -1: none
  std::int32_t waits;            // how many of the following
  std::array<std::int32_t, plan::kMaxWaits> sequence;  // that operator of ...
  std::array<std::int8_t, plan::kMaxWaits> stream;     // ... this stream
};

struct StreamState {
  Ticks ready = 0, start = 0;
  Progress progress;             // of what runs
  std::int32_t head = -1, tail = -1;
  std::int32_t issued = 0, completed = 0;
  std::int32_t meeting = -1;     // where its head meets others
  std::uint16_t waiters = 0;     // streams whose head is blocked on this one, as bits
  State state = State::idle;
  std::int8_t cause = kNothing;
};

/// The operator that recorded an event.
struct Recorded {
  std::int32_t sequence = -1;
  std::int8_t stream = -1;
};

struct Machine {
  std::array<Ticks, kStreams> next;                    // instant at which something happens to each stream's head
  std::array<StreamState, kStreams> streams;
  std::array<Recorded, plan::kEvents> events;
  Holders holders;
  std::uint16_t sharing = 0;                           // streams whose running operator holds something, as bits
  bool host_waits = false, full = false;
  bool plain = true;                                   // kernels take their prices
  bool recorded = true;
  Ticks host = 0;
  const std::vector<plan::Call>* program = nullptr;
  std::int32_t call = -1, step = 0, step_end = 0;      // next to issue
  std::int32_t free = 0;                               // first free entry
  std::int32_t outstanding = 0;
  std::array<double, kStreams> variance{};             // jitter since the last collective of each stream
  std::uint64_t samples = 0;
};

struct Meeting {
  std::int32_t size = 0, arrived = 0, ended = 0;
  std::vector<std::pair<std::int32_t, std::int8_t>> members;   // instance, stream
};

class Run {
 public:
  explicit Run(const EngineInput& in);
  EngineOutput run();

 private:
  Entry& entry(int i, std::int32_t at) { return entries_[static_cast<std::size_t>(i) * kWindow + at]; }
  const Step& step_of(int i, const StreamState& s) { return in_.steps[entry(i, s.head).step]; }

  void prepare(int i);
  void issue(int i);
  void push(int i, std::int32_t index);
  void consider(int i, int s, std::int8_t cause);
  void arrive(int i, int s);
  void start(int i, int s);
  void end(int i, int s);
  void complete(int i, int s);
  void restretch(int i);
  void advance(int i);
  int next_stream(const Machine& m) const;
  void refresh(int i);
  Ticks varied(int i, const Step& step, int s);

  const EngineInput& in_;
  std::vector<Machine> machines_;
  std::vector<Entry> entries_;
  std::vector<Meeting> meetings_;
  std::map<std::int32_t, double> maxima_;              // expected_maximum() of each size of collective
  Tournament clocks_;
  Ticks now_ = 0;
  EngineOutput out_;
};

Run::Run(const EngineInput& in)
    : in_(in),
      machines_(in.instances.size()),
      entries_(in.instances.size() * kWindow),
      meetings_(in.meeting_size.size()),
      clocks_(in.instances.size()) {
  out_.spans.resize(in.instances.size() * kStreams);
  for (std::size_t m = 0; m < meetings_.size(); ++m) meetings_[m].size = in.meeting_size[m];
  if (in.jitter == 0 || !in.folded) return;
  for (const Step& step : in.steps) {
    if (const auto [it, fresh] = maxima_.try_emplace(step.members); fresh) it->second = expected_maximum(step.members);
  }
}

void Run::prepare(int i) {
  Machine& m = machines_[i];
  const Instance& instance = in_.instances[i];
  for (int e = 0; e < kWindow; ++e) entry(i, e).next = e + 1 < kWindow ? e + 1 : -1;
  m.next.fill(kNever);
  m.program = &in_.plan->roles[instance.role].calls;
  m.plain = in_.jitter == 0 && instance.compute_factor == 1 && instance.network_factor == 1;
  m.recorded = instance.recorded;
  m.host = in_.host_start;
  if (!m.recorded) return;
  std::array<std::size_t, kStreams> count{};
  for (const plan::Call& call : *m.program) {
    for (std::int32_t at = in_.segment_begin[call.segment]; at < in_.segment_begin[call.segment + 1]; ++at) {
      ++count[in_.steps[at].stream];
    }
  }
  for (int s = 0; s < kStreams; ++s) out_.spans[static_cast<std::size_t>(i) * kStreams + s].reserve(count[s]);
}

/// Issues until the window is full, the program ends, or the host has to wait for the device.
void Run::issue(int i) {
  Machine& m = machines_[i];
  if (m.full) m.host = std::max(m.host, now_);   // it stood still until there was room
  m.full = false;
  while (!m.host_waits) {
    while (m.step == m.step_end) {
      if (m.call + 1 >= static_cast<std::int32_t>(m.program->size())) return;
      const std::int32_t segment = (*m.program)[++m.call].segment;
      m.step = in_.segment_begin[segment];
      m.step_end = in_.segment_begin[segment + 1];
    }
    if (m.outstanding == kWindow) {
      m.full = true;
      return;
    }
    push(i, m.step++);
  }
}

void Run::push(int i, std::int32_t index) {
  Machine& m = machines_[i];
  const Step& step = in_.steps[index];
  const std::int32_t at = m.free;
  Entry& e = entry(i, at);
  m.free = e.next;
  m.host += step.host;
  e.issued = m.host;
  e.step = index;
  e.call = m.call;
  e.next = -1;
  e.waits = 0;
  for (const plan::EventId wait : step.waits) {
    if (wait < 0) continue;
    const Recorded& event = m.events[wait];
    if (event.stream < 0 || m.streams[event.stream].completed > event.sequence) continue;
    e.stream[e.waits] = event.stream;
    e.sequence[e.waits++] = event.sequence;
  }
  StreamState& s = m.streams[step.stream];
  const Recorded mark{s.issued++, static_cast<std::int8_t>(step.stream)};
  m.events[step.stream] = mark;
  if (step.records >= 0) m.events[step.records] = mark;
  ++m.outstanding;
  m.host_waits = step.synchronizes;
  if (s.head < 0) {
    s.head = s.tail = at;
    consider(i, step.stream, kNothing);
  } else {
    entry(i, s.tail).next = at;
    s.tail = at;
  }
}

/// Lets the head of a stream go as far as it can. `cause`: whose operator made this possible.
void Run::consider(int i, int s, std::int8_t cause) {
  Machine& m = machines_[i];
  StreamState& stream = m.streams[s];
  const Entry& e = entry(i, stream.head);
  for (int w = 0; w < e.waits; ++w) {
    StreamState& other = m.streams[e.stream[w]];
    if (other.completed > e.sequence[w]) continue;
    stream.state = State::blocked;
    other.waiters = static_cast<std::uint16_t>(other.waiters | 1u << s);
    m.next[s] = kNever;
    return;
  }
  if (e.issued > now_) {
    stream.state = State::unissued;
    m.next[s] = e.issued;
    return;
  }
  stream.cause = cause;
  arrive(i, s);
}

void Run::arrive(int i, int s) {
  StreamState& stream = machines_[i].streams[s];
  stream.ready = now_;
  const std::int16_t channel = step_of(i, stream).channel;
  stream.meeting = channel < 0 ? -1 : in_.meeting_of[i * in_.plan->channels.size() + channel];
  if (stream.meeting < 0) return start(i, s);
  Meeting& meeting = meetings_[stream.meeting];
  meeting.members.emplace_back(i, static_cast<std::int8_t>(s));
  stream.state = State::meeting;
  machines_[i].next[s] = kNever;
  if (++meeting.arrived < meeting.size) return;
  for (const auto& [member, on] : meeting.members) {
    start(member, on);
    if (member != i) refresh(member);
  }
}

/// Gives what runs on shared resources the pace that its company leaves it.
void Run::restretch(int i) {
  Machine& m = machines_[i];
  for (unsigned streams = m.sharing; streams != 0; streams &= streams - 1) {
    const int s = __builtin_ctz(streams);
    if (m.next[s] == now_) continue;   // has ended, whoever comes or goes at this instant
    StreamState& stream = m.streams[s];
    const double stretch = m.holders.stretch(step_of(i, stream).resources, in_);
    if (stretch != stream.progress.stretch()) m.next[s] = stream.progress.change(now_, stretch);
  }
}

/// The time alone of an operator on a slow rank or link, or under jitter.
Ticks Run::varied(int i, const Step& step, int s) {
  Machine& m = machines_[i];
  const Instance& instance = in_.instances[i];
  const bool kernel = (step.resources & resource::kCompute) != 0;
  double duration = static_cast<double>(step.duration);
  if (kernel) duration *= instance.compute_factor;
  if ((step.resources & (resource::kNicIn | resource::kNicOut)) != 0) duration *= instance.network_factor;
  if (in_.jitter > 0 && in_.folded) {
    if (kernel) {
      for (double& v : m.variance) v += duration * duration;
    } else if (step.members > 1) {
      duration += in_.jitter * maxima_.at(step.members) * std::sqrt(m.variance[s]);
      m.variance[s] = 0;
    }
  } else if (in_.jitter > 0 && kernel) {
    const auto rank = static_cast<std::uint64_t>(instance.rank);
    duration *= std::max(0.0, 1 + in_.jitter * normal_sample(in_.seed, rank, m.samples++));
  }
  return std::llround(duration);
}

void Run::start(int i, int s) {
  Machine& m = machines_[i];
  StreamState& stream = m.streams[s];
  const Step& step = step_of(i, stream);
  const Ticks alone = m.plain ? step.duration : varied(i, step, s);
  stream.start = now_;
  stream.state = State::running;
  double stretch = 1;
  if (step.resources != 0) {
    m.holders.enter(step.resources);
    restretch(i);
    m.sharing = static_cast<std::uint16_t>(m.sharing | 1u << s);
    stretch = m.holders.stretch(step.resources, in_);
  }
  m.next[s] = stream.progress.begin(now_, alone, stretch);
}

void Run::end(int i, int s) {
  Machine& m = machines_[i];
  StreamState& stream = m.streams[s];
  if (const std::uint8_t resources = step_of(i, stream).resources; resources != 0) {
    m.sharing = static_cast<std::uint16_t>(m.sharing & ~(1u << s));
    m.holders.leave(resources);
    restretch(i);
  }
  if (stream.meeting < 0) return complete(i, s);
  Meeting& meeting = meetings_[stream.meeting];
  stream.state = State::parting;
  m.next[s] = kNever;
  if (++meeting.ended < meeting.size) return;
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
  if (m.recorded) {
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
  out_.end = now_;                // time never runs back
  stream.head = e.next;
  e.next = m.free;
  m.free = done;
  --m.outstanding;
  if (stream.head >= 0) {
    consider(i, s, kNothing);
  } else {
    stream.tail = -1;
    stream.state = State::idle;
    m.next[s] = kNever;
  }
  unsigned waiters = stream.waiters;
  for (stream.waiters = 0; waiters != 0; waiters &= waiters - 1) {
    consider(i, __builtin_ctz(waiters), static_cast<std::int8_t>(s));
  }
  if (in_.steps[e.step].synchronizes) {
    m.host_waits = false;
    m.host = std::max(m.host, now_);
    issue(i);
  } else if (m.full) {
    issue(i);
  }
}

int Run::next_stream(const Machine& m) const {
  int first = 0;
  for (int s = 1; s < kStreams; ++s) {
    if (m.next[s] < m.next[first]) first = s;
  }
  return first;
}

/// All that happens to an instance now, stream by stream.
void Run::advance(int i) {
  Machine& m = machines_[i];
  int s = next_stream(m);
  for (; m.next[s] == now_; s = next_stream(m)) {
    if (m.streams[s].state == State::running) {
      end(i, s);
    } else {
      consider(i, s, kHost);
    }
  }
  clocks_.set(i, m.next[s]);
}

void Run::refresh(int i) { clocks_.set(i, machines_[i].next[next_stream(machines_[i])]); }

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
