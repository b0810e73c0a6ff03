// SPDX-License-Identifier: Apache-2.0
#include "sim/search/pipeline_walk.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <stdexcept>

#include "sim/engine/engine.h"
#include "sim/engine/tournament.h"
#include "sim/search/company.h"

namespace sim {
namespace {

using plan::Pass;

constexpr double kHalfAnOperator = 0.5;

/// Instants are not negative: their bits are in their order.
std::int64_t key_of(double instant) {
  return instant == Company::kNever ? Tournament::kNever : std::bit_cast<std::int64_t>(instant);
}

class Walker {
 public:
  explicit Walker(const WalkInput& in)
      : in_(in), ended_(in.shape.passes.size()), arrived_(in.shape.passes.size(), -1), clocks_(stage_count()) {
    for (std::size_t s = 0; s < stage_count(); ++s) stages_.emplace_back(in.shared_link);
  }

  std::vector<StageEnd> run() {
    for (int s = 0; s < static_cast<int>(stage_count()); ++s) begin(s);
    while (clocks_.earliest() < Tournament::kNever) {
      const int stage = clocks_.winner();
      now_ = std::bit_cast<double>(clocks_.earliest());
      Company& company = stages_[stage].company;
      company.ends() ? advance(stage, company.who()) : company.settle(now_);
      touch(stage);
      refresh();
    }
    std::vector<StageEnd> out;
    for (int s = 0; s < static_cast<int>(stage_count()); ++s) {
      const Stage& stage = stages_[s];
      if (stage.next < end_of(s)) throw std::logic_error("the schedule's passes wait for one another for ever");
      out.push_back(stage.end);
    }
    return out;
  }

 private:
  static constexpr double kNotInThisPass = 2;

  /// What a stage sends one way: one behind the other.
  struct Link {
    std::vector<std::int32_t> ready;  // passes whose inputs can travel
    std::size_t gone = 0;             // of them
    int under_way = 0;                // ends of a transfer that are not through
  };
  /// A collective that the host has asked for.
  struct Asked {
    double time = 0;          // alone
    std::int32_t behind = 0;  // pass: those of the stage before it end first
  };
  /// How far the host is with what it issues, in passes, gathers of a first forward and operators.
  struct Host {
    std::int32_t next = 0;             // pass
    std::size_t asked = 0;             // gathers of that
    double issued = 0, completed = 0;  // operators of whole passes
    double goes_on = kNotInThisPass;   // at this share of the pass that runs it asks for more
  };
  struct Stage {
    explicit Stage(bool shared_link) : company(shared_link) {}
    Company company;
    Host host;
    std::int32_t next = 0;               // pass to run, or that runs
    bool prepares = true, runs = false;  // gradients are zeroed; that pass runs, or waits for its parameters
    double at = 0;                       // share of that pass up to the end of its present piece
    std::size_t cuts = 0;                // its exchanges that are behind
    double ready = 0;                    // when its kernels can begin
    std::vector<Asked> exchanges;        // gathers first
    std::size_t exchanged = 0;           // of them, through
    std::size_t gathers = 0;             // of them, for first forwards before this pass
    std::array<Link, 2> links;           // by direction
    StageEnd end;
  };

  std::size_t stage_count() const { return in_.shape.first_of.size() - 1; }
  std::int32_t end_of(int stage) const { return in_.shape.first_of[static_cast<std::size_t>(stage) + 1]; }
  const ShapePass& pass_of(std::int32_t number) const { return in_.shape.passes[number]; }
  const ChunkTimes& times_of(const ShapePass& p) const {
    return *in_.times[static_cast<std::size_t>(p.stage) * in_.chunks + p.chunk];
  }
  const PassTime& time_of(const ShapePass& p) const {
    const ChunkTimes& times = times_of(p);
    return p.pass == Pass::forward ? times.forward : p.pass == Pass::weight_gradient ? times.weights : times.backward;
  }
  /// Something begins or ends on a stage: at the end of the instant it is asked what comes next.
  void touch(int stage) {
    if (std::find(touched_.begin(), touched_.end(), stage) == touched_.end()) touched_.push_back(stage);
  }
  void refresh() {
    for (const int stage : touched_) clocks_.set(stage, key_of(stages_[stage].company.next()));
    touched_.clear();
  }

  void begin(int number) {
    Stage& stage = stages_[number];
    now_ = in_.begin;
    stage.end = {-1, 0, in_.begin, in_.begin};
    stage.next = in_.shape.first_of[number];
    stage.host.next = stage.next;
    issue(number);
    stage.company.enter(in_.kernels);
    stage.company.begin(Company::pass, now_, in_.zeroing[number]);
    touch(number);
    refresh();
  }

  void advance(int stage, int part) {
    stages_[stage].company.end(part, now_);
    if (part == Company::pass) return end_piece(stage);
    if (part == Company::exchange) return end_exchange(stage);
    if (part < Company::receive) return end_flight(stage, part - Company::send);
    end_flight(before(stage, part - Company::receive), part - Company::receive);
  }

  /// What the host asks for ahead: as far as its queue reaches, and no further than an input that it waits for.
  void issue(int number) {
    Stage& stage = stages_[number];
    Host& host = stage.host;
    const double runs = stage.runs ? time_of(pass_of(stage.next)).operators : 0;
    host.goes_on = kNotInThisPass;
    for (; host.next < end_of(number) && host.issued < host.completed + runs + kLaunchQueue; ++host.next) {
      const ShapePass& p = pass_of(host.next);
      const bool waits = in_.host_waits && p.crosses && host.next >= stage.next + (stage.runs ? 1 : 0);
      if (p.first && !issue_gathers(stage, times_of(p), waits, runs)) return;
      if (waits) return;
      host.asked = 0;
      host.issued += time_of(p).operators;
    }
  }
  /// Those of the first forward that the host has come to; the first goes ahead of the input. False: its queue is full
  /// before. `runs`: operators of the pass that runs.
  bool issue_gathers(Stage& stage, const ChunkTimes& times, bool waits, double runs) {
    Host& host = stage.host;
    const std::vector<Exchange>& gathers = times.gathers;
    const std::size_t count = waits ? std::min<std::size_t>(1, gathers.size()) : gathers.size();
    for (; host.asked < count; ++host.asked) {
      const double share = host.asked == 0 ? 0 : gathers[host.asked - 1].share;
      const double room_at = host.issued + share * times.forward.operators - kLaunchQueue - host.completed;
      if (room_at > stage.at * runs + kHalfAnOperator) {
        if (room_at < runs) host.goes_on = room_at / runs;
        return false;
      }
      const bool behind = in_.gathers_follow && host.asked == 0;
      exchange(stage, {gathers[host.asked].time, behind ? host.next : 0});
    }
    return true;
  }

  /// The stage whose transfers of one direction come here.
  int before(int stage, int way) const {
    const int stages = static_cast<int>(stage_count());
    return (stage + (way == 1 ? stages - 1 : 1)) % stages;
  }

  void exchange(Stage& stage, const Asked& asked) {
    stage.exchanges.push_back(asked);
    try_exchange(stage);
  }
  void try_exchange(Stage& stage) {
    if (stage.company.runs(Company::exchange) || stage.exchanged == stage.exchanges.size()) return;
    const Asked& asked = stage.exchanges[stage.exchanged];
    if (stage.next >= asked.behind) stage.company.begin(Company::exchange, now_, asked.time);
  }
  void end_exchange(int number) {
    Stage& stage = stages_[number];
    stage.end.reduced = now_;
    ++stage.exchanged;
    try_exchange(stage);
    if (stage.runs && !stage.company.runs(Company::pass)) begin_piece(stage);
  }

  void try_pass(int number) {
    Stage& stage = stages_[number];
    if (stage.runs || stage.prepares || stage.next == end_of(number)) return;
    const ShapePass& p = pass_of(stage.next);
    const bool there = p.input < 0 || (p.crosses ? arrived_[stage.next] >= 0 : ended_[p.input] != 0);
    if (!there || (in_.blocking && sends(stage))) return;
    const PassTime& time = time_of(p);
    stage.runs = true;
    stage.at = 0;
    stage.cuts = 0;
    stage.ready = p.crosses ? arrived_[stage.next] + time.late : now_;
    stage.company.enter(time.sections);
    issue(number);
    begin_piece(stage);
  }
  static bool sends(const Stage& stage) {
    return stage.links[0].gone < stage.links[0].ready.size() || stage.links[1].gone < stage.links[1].ready.size();
  }

  /// The part of a pass up to what it exchanges next; a first forward waits for its parameters before.
  void begin_piece(Stage& stage) {
    const ShapePass& p = pass_of(stage.next);
    const ChunkTimes& times = times_of(p);
    const std::vector<Exchange>& cuts = cuts_of(p);
    if (p.first && stage.cuts < cuts.size() && stage.exchanged <= stage.gathers + stage.cuts) return;
    const double whole = p.first ? times.first_forward : time_of(p).time;
    const double to = std::min(stage.cuts < cuts.size() ? cuts[stage.cuts].share : 1, stage.host.goes_on);
    const double late = std::max(0.0, stage.ready - now_);
    if (stage.end.first < 0) stage.end.first = now_ + late;
    stage.company.begin(Company::pass, now_, whole * (to - stage.at) + late);
    stage.company.wait(late);
    stage.at = to;
  }
  const std::vector<Exchange>& cuts_of(const ShapePass& p) const {
    static const std::vector<Exchange> kNone;
    return p.first ? times_of(p).gathers : p.last ? times_of(p).reductions : kNone;
  }

  void end_piece(int number) {
    Stage& stage = stages_[number];
    if (stage.prepares) {
      stage.prepares = false;
      return go_on(number);
    }
    const ShapePass& p = pass_of(stage.next);
    const std::vector<Exchange>& cuts = cuts_of(p);
    if (stage.at >= stage.host.goes_on) issue(number);
    if (stage.cuts < cuts.size() && stage.at >= cuts[stage.cuts].share) {
      if (p.last) exchange(stage, {cuts[stage.cuts].time});
      ++stage.cuts;
    } else if (stage.at >= 1) {
      if (p.first) stage.gathers += cuts.size();
      return end_pass(number);
    }
    begin_piece(stage);
  }

  void end_pass(int number) {
    Stage& stage = stages_[number];
    const std::int32_t done = stage.next++;
    ended_[done] = 1;
    stage.runs = false;
    stage.host.completed += time_of(pass_of(done)).operators;
    stage.end.passes = now_;
    try_exchange(stage);
    const std::int32_t taker = pass_of(done).next;
    if (taker >= 0 && pass_of(taker).crosses) {
      const int way = pass_of(taker).downward ? 1 : 0;
      stage.links[way].ready.push_back(taker);
      try_flight(number, way);
    }
    go_on(number);
  }

  /// A stage is free.
  void go_on(int number) {
    const std::int32_t next = stages_[number].next;
    if (in_.blocking && next < end_of(number) && pass_of(next).crosses) {
      try_flight(pass_of(pass_of(next).input).stage, pass_of(next).downward ? 1 : 0);
    }
    try_pass(number);
  }

  void try_flight(int sender, int way) {
    Link& link = stages_[sender].links[way];
    if (link.under_way > 0 || link.gone == link.ready.size()) return;
    const std::int32_t taker = link.ready[link.gone];
    const int receiver = pass_of(taker).stage;
    Stage& to = stages_[receiver];
    if (in_.blocking && (to.runs || to.prepares || to.next != taker)) return;
    link.under_way = 2;
    stages_[sender].company.begin(Company::send + way, now_, in_.transfer);
    to.company.begin(Company::receive + way, now_, in_.transfer);
    touch(sender);
    touch(receiver);
  }

  /// One end of a transfer is through; at the other end it has arrived.
  void end_flight(int sender, int way) {
    Link& link = stages_[sender].links[way];
    if (--link.under_way > 0) return;
    const std::int32_t taker = link.ready[link.gone++];
    const int receiver = pass_of(taker).stage;
    arrived_[taker] = stages_[sender].end.sent = now_;
    try_flight(sender, way);
    try_pass(receiver);
    if (in_.blocking) try_pass(sender);
    touch(sender);
    touch(receiver);
  }

  const WalkInput& in_;
  std::vector<char> ended_;
  std::vector<double> arrived_;
  std::vector<Stage> stages_;
  Tournament clocks_;
  std::vector<int> touched_;  // stages
  double now_ = 0;
};

}  // namespace

std::vector<StageEnd> walk(const WalkInput& in) { return Walker(in).run(); }

}  // namespace sim
