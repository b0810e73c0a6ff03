// SPDX-License-Identifier: Apache-2.0
#include "sim/search/pipeline_walk.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>

#include "sim/engine/tournament.h"
#include "sim/search/company.h"

namespace sim {
namespace {

using plan::Pass;

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
    for (const Stage& stage : stages_) out.push_back({stage.first, stage.passes, stage.exchanged, stage.sent});
    return out;
  }

 private:
  /// What a stage sends one way: one behind the other.
  struct Link {
    std::vector<std::int32_t> ready;  // passes whose inputs can travel
    std::size_t gone = 0;             // of them
    int under_way = 0;                // ends of a transfer that are not through
  };
  static constexpr double kNeverAsks = 2;
  struct Stage {
    explicit Stage(bool shared_link) : company(shared_link) {}
    Company company;
    std::int32_t next = 0;          // pass to run, or that runs
    double at = 0;                  // share of that pass which is done
    std::size_t cuts = 0;           // exchanges of it that are behind
    bool runs = false, prepares = true;
    double ready = 0;               // when its kernels can begin
    std::vector<double> exchanges;  // asked for, gathers first
    std::size_t exchanged_count = 0;
    std::size_t gathers = 0;        // needed by first forwards before this one
    std::int32_t host = 0;          // pass that the host issues next
    std::size_t asked = 0;          // gathers of it
    double issued = 0, completed = 0;  // operators of whole passes
    double asks = kNeverAsks;          // at this share of the running pass the host goes on
    std::array<Link, 2> links;      // by direction
    double first = -1, passes = 0, exchanged = 0, sent = 0;
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
    stage.exchanged = stage.sent = in_.begin;
    stage.next = in_.shape.first_of[number];
    stage.host = stage.next;
    issue(number);
    const PassTime& pass = in_.times[number * in_.chunks]->forward;
    stage.company.enter({.exchange = pass.exchange, .transfer = pass.transfer}, {});
    stage.company.begin(Company::pass, now_, in_.zeroing[number]);
    touch(number);
    refresh();
  }

  void advance(int stage, int part) {
    stages_[stage].company.end(part, now_);
    if (part == Company::pass) return end_piece(stage);
    if (part == Company::exchange) return end_exchange(stage);
    if (part < Company::receive) return end_flight(stage, part - Company::send);
    const ShapePass& taker = pass_of(stages_[stage].next);
    static_cast<void>(taker);
    end_flight(before(stage, part - Company::receive), part - Company::receive);
  }

  /// What the host asks for ahead: as far as its queue reaches, and no further than an input that it waits for. Notes
  /// at which share of the pass that runs it asks for more.
  void issue(int number) {
    Stage& stage = stages_[number];
    const double runs = stage.runs ? time_of(pass_of(stage.next)).operators : 0;
    const double ahead = stage.completed + kLaunchQueue;
    stage.asks = kNeverAsks;
    for (; stage.host < end_of(number) && stage.issued < ahead + runs; ++stage.host) {
      const ShapePass& p = pass_of(stage.host);
      const bool waits = in_.host_waits && p.crosses && stage.host >= stage.next + (stage.runs ? 1 : 0);
      if (p.first && !issue_gathers(stage, times_of(p), waits, ahead, runs)) return;
      if (waits) return;
      stage.asked = 0;
      stage.issued += time_of(p).operators;
    }
  }
  /// Those of the first forward that the host has come to; false: not all, for its queue is full.
  bool issue_gathers(Stage& stage, const ChunkTimes& times, bool waits, double ahead, double runs) {
    const std::vector<Exchange>& gathers = times.gathers;
    const std::size_t count = waits ? std::min<std::size_t>(1, gathers.size()) : gathers.size();
    for (; stage.asked < count; ++stage.asked) {
      const double share = stage.asked == 0 ? 0 : gathers[stage.asked - 1].share;
      const double beyond = stage.issued + share * times.forward.operators - ahead;
      if (beyond > stage.at * runs + 0.5) {
        if (beyond < runs) stage.asks = beyond / runs;
        return false;
      }
      exchange(stage, gathers[stage.asked].time);
    }
    return true;
  }

  /// The stage whose transfers of one direction come here.
  int before(int stage, int way) const {
    const int stages = static_cast<int>(stage_count());
    return (stage + (way == 1 ? stages - 1 : 1)) % stages;
  }

  void exchange(Stage& stage, double time) {
    stage.exchanges.push_back(time);
    if (!stage.company.runs(Company::exchange)) stage.company.begin(Company::exchange, now_, time);
  }
  void end_exchange(int number) {
    Stage& stage = stages_[number];
    stage.exchanged = now_;
    if (++stage.exchanged_count < stage.exchanges.size()) {
      stage.company.begin(Company::exchange, now_, stage.exchanges[stage.exchanged_count]);
    }
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
    if (stage.first < 0) stage.first = now_;
    stage.company.enter({.exchange = time.exchange, .transfer = time.transfer}, time.sections);
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
    if (p.first && stage.cuts < cuts.size() && stage.exchanged_count <= stage.gathers + stage.cuts) return;
    const double whole = p.first ? times.first_forward : time_of(p).time;
    const double to = std::min(stage.cuts < cuts.size() ? cuts[stage.cuts].share : 1, stage.asks);
    const double late = std::max(0.0, stage.ready - now_);
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
    if (stage.at >= stage.asks) issue(number);
    if (stage.cuts < cuts.size() && stage.at >= cuts[stage.cuts].share) {
      if (p.last) exchange(stage, cuts[stage.cuts].time);
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
    stage.completed += time_of(pass_of(done)).operators;
    stage.passes = now_;
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
    arrived_[taker] = stages_[sender].sent = now_;
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
