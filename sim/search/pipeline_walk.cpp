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
      advance(stage, stages_[stage].company.who());
      refresh(stage);
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
  struct Stage {
    explicit Stage(bool shared_link) : company(shared_link) {}
    Company company;
    std::int32_t next = 0;          // pass to run, or that runs
    std::size_t piece = 0;          // of that pass
    bool runs = false, prepares = true;
    double delay = 0;               // of the next piece
    std::vector<double> exchanges;  // asked for, gathers first
    std::size_t exchanged_count = 0;
    std::size_t gathers = 0;        // needed by first forwards before this one
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
  void refresh(int stage) { clocks_.set(stage, key_of(stages_[stage].company.next())); }

  void begin(int number) {
    Stage& stage = stages_[number];
    now_ = in_.begin;
    stage.exchanged = stage.sent = in_.begin;
    stage.next = in_.shape.first_of[number];
    for (int v = 0; v < in_.chunks; ++v) {
      for (const Exchange& gather : in_.times[number * in_.chunks + v]->gathers) exchange(stage, gather.time);
    }
    const PassTime& pass = in_.times[number * in_.chunks]->forward;
    stage.company.beside(pass.exchange, pass.transfer);
    stage.company.begin(Company::pass, now_, in_.zeroing[number]);
    refresh(number);
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
    stage.piece = 0;
    stage.delay = p.crosses ? std::max(0.0, arrived_[stage.next] + time.late - now_) : 0;
    if (stage.first < 0) stage.first = now_;
    stage.company.beside(time.exchange, time.transfer);
    begin_piece(stage);
  }
  static bool sends(const Stage& stage) {
    return stage.links[0].gone < stage.links[0].ready.size() || stage.links[1].gone < stage.links[1].ready.size();
  }

  /// The part of a pass up to what it exchanges next; a first forward waits for its parameters before.
  void begin_piece(Stage& stage) {
    const ShapePass& p = pass_of(stage.next);
    const ChunkTimes& times = times_of(p);
    if (p.first && stage.piece < times.gathers.size() && stage.exchanged_count <= stage.gathers + stage.piece) return;
    const double whole = p.first ? times.first_forward : time_of(p).time;
    const std::vector<Exchange>& cuts = cuts_of(p);
    const double from = stage.piece == 0 ? 0 : cuts[stage.piece - 1].share;
    const double to = stage.piece < cuts.size() ? cuts[stage.piece].share : 1;
    stage.company.begin(Company::pass, now_, whole * (to - from) + stage.delay);
    stage.delay = 0;
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
    if (stage.piece < cuts.size()) {
      if (p.last) exchange(stage, cuts[stage.piece].time);
      ++stage.piece;
      return begin_piece(stage);
    }
    if (p.first) stage.gathers += cuts.size();
    end_pass(number);
  }

  void end_pass(int number) {
    Stage& stage = stages_[number];
    const std::int32_t done = stage.next++;
    ended_[done] = 1;
    stage.runs = false;
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
    refresh(sender);
    refresh(receiver);
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
    refresh(sender);
    refresh(receiver);
  }

  const WalkInput& in_;
  std::vector<char> ended_;
  std::vector<double> arrived_;
  std::vector<Stage> stages_;
  Tournament clocks_;
  double now_ = 0;
};

}  // namespace

std::vector<StageEnd> walk(const WalkInput& in) { return Walker(in).run(); }

}  // namespace sim
