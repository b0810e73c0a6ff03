// SPDX-License-Identifier: Apache-2.0
#include "sim/engine/engine.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

#include "core/base/normal.h"
#include "sim/engine/islands.h"
#include "sim/engine/machine.h"
#include "sim/engine/recurrence.h"
#include "sim/engine/tournament.h"

namespace sim {
namespace {

using namespace machine;

// The functions marked inline below are called several times for each operator and from few places: a tenth of the
// whole.
class Run final : private Rider {
 public:
  Run(const EngineInput& in, Islands islands, Repeats);
  EngineOutput run();

 private:
  Ticks begin(Ship) override;
  Ticks resume(Ticks now) override;
  Ticks delivered(Ticks now, std::int32_t ticket) override;
  Ticks next_instant() const;
  [[gnu::noinline]] void ship(Machine&, int s, Ticks late);  // out of start(), which is worth inlining
  void prepare(Machine&, std::int32_t instance);
  void issue_all();
  std::span<Machine> machines_on(std::int32_t island) {
    return std::span(machines_).subspan(islands_.begin[island], islands_.begin[island + 1] - islands_.begin[island]);
  }
  void visit(std::int32_t island);
  [[gnu::noinline]] void leap();
  void issue(Machine&);
  void push(Machine&, std::int32_t index);
  void consider(Machine&, int s, std::int8_t cause);
  void arrive(Machine&, int s);
  void start(Machine&, int s);
  void end(Machine&, int s);
  void complete(Machine&, int s);
  void go_on(const Meeting&, const std::vector<Member>&, State);
  void restretch(Machine&);
  void advance(Machine&, int s);
  void refresh(const Machine&);
  Ticks varied(Machine&, const Entry&);

  const EngineInput& in_;
  const Islands islands_;
  std::vector<Machine> machines_;     // in the islands' order
  std::unique_ptr<Entry[]> entries_;  // kEntries for each machine
  std::vector<Meeting> meetings_;
  std::vector<Tournament> clocks_;  // of each island's instances
  std::vector<std::int32_t> open_;  // on each island, members of meetings that wait for members on others
  Tournament horizon_;              // the earliest of each island but the one that is visited
  std::int32_t visited_ = -1;       // that island; beside a carrier there is one, and it always is
  Ticks now_ = 0;                   // there
  Ship ship_;                       // of the carrier
  std::vector<Ticks> tail_;         // [instance * streams + stream]: of its load under way
  EngineOutput out_;
  std::optional<Recurrence> recurrence_;
  std::vector<std::vector<const Meeting*>> own_;  // of each island, the meetings that nobody else has
  std::int32_t paced_ = -1;  // the call of the visited island's first instance at which it was last asked
};

Run::Run(const EngineInput& in, Islands islands, Repeats repeats)
    : in_(in),
      islands_(std::move(islands)),
      machines_(in.instances.size()),
      entries_(std::make_unique_for_overwrite<Entry[]>(in.instances.size() * kEntries)),
      meetings_(in.meeting_size.size()),
      open_(islands_.count()),
      horizon_(islands_.count()) {
  for (std::size_t i = 0; i < islands_.count(); ++i) clocks_.emplace_back(islands_.begin[i + 1] - islands_.begin[i]);
  out_.spans.resize(in.instances.size() * kStreams);
  for (std::size_t m = 0; m < meetings_.size(); ++m) meetings_[m].size = in.meeting_size[m];
  std::vector<std::int32_t> home(meetings_.size(), -1);
  for (std::size_t i = 0; i < in.meeting_of.size(); ++i) {
    const std::int32_t meeting = in.meeting_of[i], island = islands_.of[i / in.plan->channels.size()];
    if (meeting < 0) continue;
    if (home[meeting] < 0) home[meeting] = island;
    meetings_[meeting].abroad |= home[meeting] != island;
  }
  if (in.carrier || in.sampled_jitter > 0 || repeats != Repeats::copied) return;
  recurrence_.emplace();
  own_.resize(islands_.count());
  for (std::size_t m = 0; m < meetings_.size(); ++m) {
    if (home[m] >= 0 && !meetings_[m].abroad) own_[home[m]].push_back(&meetings_[m]);
  }
}

void Run::prepare(Machine& m, std::int32_t i) {
  const Instance& instance = in_.instances[i];
  m.instance = i;
  m.island = islands_.of[i];
  m.seat = static_cast<std::int32_t>(&m - &machines_[islands_.begin[m.island]]);
  m.entries = &entries_[static_cast<std::size_t>(i) * kEntries];
  m.meeting_of = in_.meeting_of.data() + i * in_.plan->channels.size();
  m.spans = &out_.spans[static_cast<std::size_t>(i) * kStreams];
  m.next.fill(kNever);
  m.program = &in_.plan->roles[instance.role].calls;
  m.segments = in_.segments_of(instance.variant);
  m.plain = in_.sampled_jitter == 0 && instance.compute_factor == 1;
  m.recorded = instance.recorded;
  if (in_.carrier) m.loads = in_.loads.data() + static_cast<std::size_t>(i) * in_.crossings;
  m.host = in_.host_start;
  if (!m.recorded) return;
  std::array<std::size_t, kStreams> count{};
  for (const plan::Call& call : *m.program) {
    for (std::int32_t at = m.segments[call.segment]; at < m.segments[call.segment + 1]; ++at) {
      ++count[in_.steps[at].stream];
    }
  }
  for (int s = 0; s < kStreams; ++s) m.spans[s].reserve(count[s]);
}

/// Issues until the window is full, the program ends, or the host has to wait for the device.
inline void Run::issue(Machine& m) {
  if (m.full) m.host = std::max(m.host, now_);  // it stood still until there was room
  m.full = false;
  while (!m.host_waits) {
    while (m.step == m.step_end) {
      if (m.call + 1 >= static_cast<std::int32_t>(m.program->size())) return;
      const std::int32_t segment = (*m.program)[++m.call].segment;
      m.step = m.segments[segment];
      m.step_end = m.segments[segment + 1];
    }
    if (m.outstanding >= kLaunchQueue) {
      m.full = true;
      return;
    }
    push(m, m.step++);
  }
}

void Run::push(Machine& m, std::int32_t index) {
  const Step& step = in_.steps[index];
  const std::int16_t at = m.free >= 0 ? m.free : m.fresh++;
  Entry& e = m.entries[at];
  if (m.free >= 0) m.free = e.next;
  m.host += step.host;
  e.issued = m.host;
  m.host += step.host_behind;
  e.operators = step.operators;
  e.duration = step.duration + step.wait;
  e.channel = step.channel;
  e.resources = step.resources;
  e.synchronizes = step.synchronizes;
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
  m.outstanding += step.operators;
  m.host_waits = step.synchronizes;
  if (s.head < 0) {
    s.head = s.tail = at;
    consider(m, step.stream, kNothing);
  } else {
    m.entries[s.tail].next = at;
    s.tail = at;
  }
}

/// Lets the head of a stream go as far as it can. `cause`: whose operator made this possible.
void Run::consider(Machine& m, int s, std::int8_t cause) {
  StreamState& stream = m.streams[s];
  const Entry& e = m.entries[stream.head];
  __builtin_prefetch(&m.entries[std::max<std::int16_t>(e.next, 0)]);  // in the cache when it gets its turn
  for (int w = 0; w < e.waits; ++w) {
    StreamState& other = m.streams[e.stream[w]];
    if (other.completed > e.sequence[w]) continue;
    stream.state = State::blocked;
    other.waiters = static_cast<std::uint16_t>(other.waiters | 1u << s);
    other.wake = std::min(other.wake, e.sequence[w] + 1);
    m.next[s] = kNever;
    return;
  }
  if (e.issued > now_) {
    stream.state = State::unissued;
    m.next[s] = event_at(e.issued, s);
    return;
  }
  stream.cause = cause;
  arrive(m, s);
}

void Run::arrive(Machine& m, int s) {
  StreamState& stream = m.streams[s];
  stream.ready = now_;
  const std::int16_t channel = m.entries[stream.head].channel;
  stream.meeting = channel < 0 ? -1 : m.meeting_of[channel];
  if (stream.meeting < 0) return start(m, s);
  Meeting& meeting = meetings_[stream.meeting];
  if (meeting.arrived == meeting.size) throw std::logic_error("two operators of a rank are in one meeting");
  meeting.members.push_back({&m, s});
  meeting.latest = std::max(meeting.latest, now_);
  stream.state = State::meeting;
  m.next[s] = kNever;
  if (meeting.abroad) {
    ++open_[m.island];
    if (recurrence_) recurrence_->forget();
  }
  if (++meeting.arrived < meeting.size) return;
  go_on(meeting, meeting.members, State::starting);
}

/// All members of a meeting go on when the last of them has come: here at once, elsewhere or later by an event.
inline void Run::go_on(const Meeting& meeting, const std::vector<Member>& members, State next) {
  const Ticks when = meeting.latest;
  for (const auto& [machine, s] : members) {
    open_[machine->island] -= meeting.abroad;
    if (machine->island == visited_ && when == now_) {
      next == State::starting ? start(*machine, s) : complete(*machine, s);
    } else {
      machine->streams[s].state = next;
      machine->next[s] = event_at(when, s);
    }
    refresh(*machine);
  }
}

/// Gives what runs on shared resources the pace that its company leaves it.
inline void Run::restretch(Machine& m) {
  for (unsigned streams = m.sharing; streams != 0; streams &= streams - 1) {
    const int s = __builtin_ctz(streams);
    if (instant_of(m.next[s]) == now_) continue;  // has ended, whoever comes or goes at this instant
    StreamState& stream = m.streams[s];
    const double stretch = m.holders.stretch(m.entries[stream.head].resources, in_);
    if (stretch != stream.progress.stretch()) m.next[s] = event_at(stream.progress.change(now_, stretch), s);
  }
}

/// The time alone of an operator on a slow rank or under jitter.
Ticks Run::varied(Machine& m, const Entry& e) {
  if ((e.resources & resource::kCompute) == 0) return e.duration;
  const Instance& instance = in_.instances[m.instance];
  double duration = static_cast<double>(e.duration) * instance.compute_factor;
  if (in_.sampled_jitter > 0) {
    const auto rank = static_cast<std::uint64_t>(instance.rank);
    duration *= std::max(0.0, 1 + in_.sampled_jitter * base::normal_sample(in_.seed, rank, m.samples++));
  }
  return std::llround(duration);
}

inline void Run::start(Machine& m, int s) {
  StreamState& stream = m.streams[s];
  const Entry& e = m.entries[stream.head];
  const Ticks alone = m.plain ? e.duration : varied(m, e);
  stream.start = now_;
  stream.state = State::running;
  double stretch = 1;
  if (e.resources != 0) {
    m.holders.enter(e.resources);
    restretch(m);
    m.sharing = static_cast<std::uint16_t>(m.sharing | 1u << s);
    stretch = m.holders.stretch(e.resources, in_);
  }
  m.next[s] = event_at(stream.progress.begin(now_, alone, stretch), s);
  if (m.loads != nullptr) ship(m, s, alone - in_.steps[e.step].duration);
}

/// Puts the load of what starts on the network. `late`: how much later than priced it ends, by its wait and by jitter.
void Run::ship(Machine& m, int s, Ticks late) {
  const std::int16_t crossing = in_.steps[m.entries[m.streams[s].head].step].crossing;
  if (crossing < 0 || m.loads[crossing].set < 0) return;
  const std::int32_t ticket = m.instance * kStreams + s;
  m.carried = static_cast<std::uint16_t>(m.carried | 1u << s);
  tail_[ticket] = m.loads[crossing].tail + std::max<Ticks>(0, late);
  ship_(m.loads[crossing], ticket);
}

inline void Run::end(Machine& m, int s) {
  StreamState& stream = m.streams[s];
  if ((m.carried >> s & 1u) != 0) {  // its flows are under way: no pace changes its end now, but it slows others
    m.sharing = static_cast<std::uint16_t>(m.sharing & ~(1u << s));
    stream.state = State::carried;
    m.next[s] = kNever;
    return;
  }
  if (const std::uint8_t resources = m.entries[stream.head].resources; resources != 0) {
    m.sharing = static_cast<std::uint16_t>(m.sharing & ~(1u << s));
    m.holders.leave(resources);
    restretch(m);
  }
  if (stream.meeting < 0) return complete(m, s);
  Meeting& meeting = meetings_[stream.meeting];
  stream.state = State::parting;
  m.next[s] = kNever;
  meeting.latest = std::max(meeting.latest, now_);
  open_[m.island] += meeting.abroad;
  if (++meeting.ended < meeting.size) return;
  const auto members = std::move(meeting.members);
  meeting.members.clear();
  meeting.arrived = meeting.ended = 0;
  go_on(meeting, members, State::leaving);
}

inline void Run::complete(Machine& m, int s) {
  StreamState& stream = m.streams[s];
  const std::int16_t done = stream.head;
  Entry& e = m.entries[done];
  if (m.recorded) {
    trace::Span& span = m.spans[s].emplace_back();
    span.ready = stream.ready;
    span.start = stream.start;
    span.end = now_;
    span.work = e.step;  // the caller turns it into name, layer and work
    span.microbatch = e.call;
    span.waited_for = stream.cause;
  }
  if (s == kComputeStream && stream.completed == 0) m.reach.begin = stream.start;
  m.reach.end = now_;
  ++stream.completed;
  out_.completed += e.operators;
  stream.head = e.next;
  e.next = m.free;
  m.free = done;
  m.outstanding -= e.operators;
  if (stream.head >= 0) {
    consider(m, s, kNothing);
  } else {
    stream.tail = -1;
    stream.state = State::idle;
    m.next[s] = kNever;
  }
  if (stream.completed >= stream.wake) {
    unsigned waiters = stream.waiters;
    stream.waiters = 0;
    stream.wake = kNobody;
    for (; waiters != 0; waiters &= waiters - 1) consider(m, __builtin_ctz(waiters), static_cast<std::int8_t>(s));
  }
  if (e.synchronizes) {
    m.host_waits = false;
    m.host = std::max(m.host, now_);
    issue(m);
  } else if (m.full) {
    issue(m);
  }
}

/// Lets happen to an instance what happens now, from stream `s` on.
void Run::advance(Machine& m, int s) {
  for (;;) {
    switch (m.streams[s].state) {
      case State::running: end(m, s); break;
      case State::starting: start(m, s); break;
      case State::leaving: complete(m, s); break;
      default: consider(m, s, kHost);
    }
    const std::int64_t next = next_event(m);
    if (instant_of(next) > now_) return clocks_[m.island].set(m.seat, next);
    s = stream_of(next);
  }
}

void Run::refresh(const Machine& m) {
  Tournament& clocks = clocks_[m.island];
  clocks.set(m.seat, next_event(m));
  if (m.island != visited_) horizon_.set(m.island, clocks.earliest());
}

/// Lets happen on an island what comes next, and what follows for as long as no other can have a say in it: where no
/// meeting waits for others, or before anything can happen there.
void Run::visit(std::int32_t island) {
  visited_ = island;
  horizon_.set(island, kNever);
  const Tournament& clocks = clocks_[island];
  const std::span<Machine> machines = machines_on(island);
  if (recurrence_) {
    recurrence_->enter(machines, own_[island], out_.completed);
    paced_ = -1;
  }
  do {
    now_ = instant_of(clocks.earliest());
    advance(machines[clocks.winner()], stream_of(clocks.earliest()));
    if (recurrence_ && machines.front().call != paced_ && open_[island] == 0) leap();
  } while (clocks.earliest() < kNever && (open_[island] == 0 || clocks.earliest() < horizon_.earliest()));
  visited_ = -1;
  horizon_.set(island, clocks.earliest());
}

/// Copies what repeats, if anything does.
void Run::leap() {
  if (recurrence_->leap(now_, out_)) {
    for (const Machine& m : machines_on(visited_)) clocks_[visited_].set(m.seat, next_event(m));
  }
  paced_ = machines_on(visited_).front().call;
}

void Run::issue_all() {
  for (Machine& m : machines_) {
    visited_ = m.island;
    issue(m);
    visited_ = -1;
    refresh(m);
  }
}

Ticks Run::begin(Ship ship) {
  ship_ = std::move(ship);
  tail_.resize(machines_.size() * kStreams);
  issue_all();
  visited_ = 0;
  return next_instant();
}

Ticks Run::next_instant() const {
  const std::int64_t next = clocks_.front().earliest();
  return next < kNever ? instant_of(next) : kNoInstant;
}

Ticks Run::resume(Ticks now) {
  const Tournament& clocks = clocks_.front();
  while (clocks.earliest() < event_at(now + 1, 0)) {
    now_ = instant_of(clocks.earliest());
    advance(machines_[clocks.winner()], stream_of(clocks.earliest()));
  }
  return next_instant();
}

Ticks Run::delivered(Ticks now, std::int32_t ticket) {
  now_ = std::max(now_, std::min(now, instant_of(clocks_.front().earliest())));
  const int s = ticket % kStreams;
  Machine& m = machines_[static_cast<std::size_t>(ticket / kStreams)];
  StreamState& stream = m.streams[s];
  m.carried = static_cast<std::uint16_t>(m.carried & ~(1u << s));
  m.next[s] = event_at(stream.progress.extend(now_, tail_[ticket]), s);
  if (stream.state == State::carried && m.entries[stream.head].resources != 0) {
    m.sharing = static_cast<std::uint16_t>(m.sharing | 1u << s);
    restretch(m);
  }
  stream.state = State::running;
  refresh(m);
  return resume(now_);
}

EngineOutput Run::run() {
  for (std::size_t i = 0; i < machines_.size(); ++i) prepare(machines_[i], islands_.order[i]);
  if (in_.carrier) {
    in_.carrier->run(*this);
  } else {
    issue_all();
    while (horizon_.earliest() < kNever) visit(horizon_.winner());
  }
  out_.reach.resize(machines_.size());
  for (const Machine& m : machines_) {
    out_.deadlocked |= m.outstanding > 0;
    out_.reach[m.instance] = m.reach;
    out_.end = std::max(out_.end, m.reach.end);
  }
  return std::move(out_);
}

}  // namespace

const Instance& EngineInput::instance_of(int rank) const {
  return *std::find_if(instances.begin(), instances.end(), [rank](const Instance& i) { return i.rank == rank; });
}

std::int64_t EngineInput::spans() const {
  std::int64_t count = 0;
  for (const Instance& instance : instances) {
    const std::int32_t* begin = segments_of(instance.variant);
    for (const plan::Call& call : plan->roles[instance.role].calls) {
      count += begin[call.segment + 1] - begin[call.segment];
    }
  }
  return count;
}

EngineOutput run(const EngineInput& in, int island, Repeats repeats) {
  constexpr int kAll = std::numeric_limits<int>::max();  // beside a carrier all ranks keep to its clock
  return Run(in, islands_of(in, in.carrier ? kAll : island), repeats).run();
}

}  // namespace sim
