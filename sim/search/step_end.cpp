// SPDX-License-Identifier: Apache-2.0
#include "sim/search/step_end.h"

#include <algorithm>
#include <cstddef>

#include "core/plan/step_ends.h"
#include "sim/pricing/flatten.h"

namespace sim {
namespace {

using Kind = plan::Channel::Kind;

/// Seconds at which each stream of one stage is through, and where its operators stand.
class Tail {
 public:
  Tail(const StageEnds& ends, const StageEnd& from) : ends_(ends) {
    through_.fill(0);
    at(plan::Stream::compute) = from.passes;
    at(plan::Stream::dp) = from.reduced;
    at(plan::Stream::send_next) = at(plan::Stream::send_prev) = from.sent;
  }

  /// Runs until an operator meets another stage's. False at the end.
  bool advance() {
    while (next_ < ends_.steps.size() && ends_.meets[next_] == Kind::group) run(ready());
    return next_ < ends_.steps.size();
  }
  Kind awaited() const { return next_ < ends_.steps.size() ? ends_.meets[next_] : Kind::group; }
  /// When the next operator could start.
  double ready() const {
    const Step& step = ends_.steps[next_];
    double start = std::max(through_[step.stream], host_ + trace::seconds(step.host));
    for (const plan::EventId wait : step.waits) {
      if (wait >= 0 && wait < plan::kStreams) start = std::max(start, through_[wait]);
    }
    return start;
  }
  /// Runs the next operator from `start` on.
  void run(double start) {
    const Step& step = ends_.steps[next_++];
    host_ += trace::seconds(step.host);
    through_[step.stream] = start + trace::seconds(step.duration + step.wait);
    if (step.synchronizes) host_ = through_[step.stream];
  }
  double end() const { return *std::max_element(through_.begin(), through_.end()); }

 private:
  double& at(plan::Stream s) { return through_[static_cast<std::size_t>(s)]; }

  const StageEnds& ends_;
  std::array<double, plan::kStreams> through_;
  double host_ = 0;  // far ahead until it waits
  std::size_t next_ = 0;
};

std::vector<Tail> tails_of(const std::vector<const StageEnds*>& ends, const std::vector<StageEnd>& from) {
  std::vector<Tail> out;
  for (std::size_t s = 0; s < ends.size(); ++s) out.emplace_back(*ends[s], from[s]);
  return out;
}

/// Lets all that wait in `kind` meet. False when none does.
bool meet(std::vector<Tail>& tails, Kind kind) {
  double start = -1;
  for (const Tail& tail : tails) {
    if (tail.awaited() == kind) start = std::max(start, tail.ready());
  }
  for (Tail& tail : tails) {
    if (start >= 0 && tail.awaited() == kind) tail.run(start);
  }
  return start >= 0;
}

}  // namespace

StageEnds stage_ends(const plan::Context& c, const std::vector<plan::Chunk>& chunks, int stage, PriceList& prices) {
  plan::Plan plan;
  plan.axes = c.axes;
  plan.pp = c.pp;
  plan::Pool pool(plan);
  const plan::Held held = plan::stage_parameters(c, chunks);
  plan::SegmentBuilder begin(pool, "begin"), end(pool, "end");
  const std::int64_t zeroed = (c.scatters_gradients ? plan::optimizer_share(c, held) : held).total();
  plan::begin_step(c, begin, zeroed);
  plan::end_step(c, end, chunks, stage);
  if (c.rolling) plan::begin_step(c, end, zeroed);
  plan.segments = {begin.finish(), end.finish()};
  plan.roles.emplace_back().stage = stage;
  std::vector<base::Seconds> priced;
  for (const plan::Work& work : plan.works) priced.push_back(prices.of(work));

  StageEnds out;
  const EngineInput in = flatten(plan, priced, c.job);
  out.jitter = in.kernel_jitter;
  const std::size_t first = plan.segments[0].operators.size();
  if (!c.rolling) {
    for (std::size_t i = 0; i < first; ++i) out.begin += trace::seconds(in.steps[i].duration + in.steps[i].wait);
  }
  out.steps.assign(in.steps.begin() + static_cast<std::ptrdiff_t>(first), in.steps.end());
  for (const Step& step : out.steps) {
    const bool meets = step.channel >= 0 && plan.channels[step.channel].kind != Kind::group;
    out.meets.push_back(meets ? plan.channels[step.channel].kind : Kind::group);
    if (step.stream == static_cast<std::uint8_t>(plan::Stream::compute)) out.least += trace::seconds(step.duration);
  }
  std::int64_t level = 0;
  for (const plan::MemoryChange& change : plan.segments[1].memory) {
    out.workspace = std::max(out.workspace, level += change.bytes);
  }
  return out;
}

double end_of_step(const std::vector<const StageEnds*>& ends, const std::vector<StageEnd>& from) {
  double end = 0;
  for (const double one : ends_apart(ends, from)) end = std::max(end, one);
  return end;
}

std::vector<double> ends_apart(const std::vector<const StageEnds*>& ends, const std::vector<StageEnd>& from) {
  std::vector<Tail> tails = tails_of(ends, from);
  do {
    for (Tail& tail : tails) tail.advance();
  } while (meet(tails, Kind::embedding) || meet(tails, Kind::model));
  std::vector<double> out;
  for (const Tail& tail : tails) out.push_back(tail.end());
  return out;
}

}  // namespace sim
