// SPDX-License-Identifier: Apache-2.0
#include "sim/engine/chains.h"

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace sim {
namespace {

/// A chain's kernels leave the launch queue together, so that a host which waits for room goes on later by up to a
/// chain and, in each stretch that it cannot keep up with, has launched as much less ahead.
constexpr int kLongest = kLaunchQueue / 32;

bool may_chain(const Step& step) {
  return step.stream == kComputeStream && step.resources == resource::kCompute && step.channel < 0 &&
         !step.synchronizes;
}

bool waits_for(const Step& step, plan::EventId event) {
  return std::find(step.waits.begin(), step.waits.end(), event) != step.waits.end();
}

bool waits(const Step& step) {
  return std::any_of(step.waits.begin(), step.waits.end(), [](plan::EventId event) { return event >= 0; });
}

/// Goes through the steps of one segment in issue order.
class Chainer {
 public:
  explicit Chainer(EngineInput& in) : in_(in) {}

  void begin_segment() { open_ = false; }

  void add(const Step& step, plan::Phase phase, std::int32_t op) {
    if (joins(step, phase)) return join(step);
    in_.lead.push_back(0);
    in_.first_operator.push_back(op);
    in_.steps.push_back(step);
    if (may_chain(step)) {
      chain_ = in_.steps.size() - 1;
      phase_ = phase;
      behind_ = 0;
      open_ = step.records < 0;
      return;
    }
    behind_ += step.host;
    open_ = open_ && !step.synchronizes && step.stream != kComputeStream &&
            !waits_for(step, plan::event_of(plan::Stream::compute));
  }

 private:
  bool joins(const Step& step, plan::Phase phase) const {
    return open_ && may_chain(step) && !waits(step) && phase == phase_ &&
           behind_ + step.host <= in_.steps[chain_].duration && in_.steps[chain_].operators < kLongest;
  }

  void join(const Step& step) {
    Step& chain = in_.steps[chain_];
    in_.lead.push_back(chain.duration);
    chain.duration += step.duration;
    chain.records = step.records;
    ++chain.operators;
    in_.steps.back().host_behind += step.host;
    behind_ += step.host;
    open_ = step.records < 0;
  }

  EngineInput& in_;
  bool open_ = false;      // whether the latest kernel's chain may grow
  std::size_t chain_ = 0;  // that chain
  plan::Phase phase_{};
  Ticks behind_ = 0;  // host time since the chain's first launch
};

}  // namespace

void chain(EngineInput& in) {
  const bool may_be_faster = std::any_of(in.instances.begin(), in.instances.end(),
                                         [](const Instance& instance) { return instance.compute_factor < 1; });
  if (in.sampled_jitter > 0 || may_be_faster) return;
  const std::vector<Step> operators = std::exchange(in.steps, {});
  const std::vector<std::int32_t> begin = std::exchange(in.segment_begin, {});
  in.steps.reserve(operators.size());
  in.lead.reserve(operators.size());
  Chainer chainer(in);
  const std::vector<plan::Segment>& segments = in.plan->segments;
  for (std::size_t first = 0; first < begin.size(); first += segments.size() + 1) {  // of each variant
    for (std::size_t s = 0; s < segments.size(); ++s) {
      in.segment_begin.push_back(static_cast<std::int32_t>(in.steps.size()));
      chainer.begin_segment();
      const std::int32_t from = begin[first + s];
      for (std::size_t op = 0; op < segments[s].operators.size(); ++op) {
        const auto at = static_cast<std::int32_t>(from + op);
        chainer.add(operators[at], segments[s].operators[op].phase, at);
      }
    }
    in.segment_begin.push_back(static_cast<std::int32_t>(in.steps.size()));
  }
}

}  // namespace sim
