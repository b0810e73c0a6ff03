// SPDX-License-Identifier: Apache-2.0
#include "core/plan/layer_copies.h"

#include <cstddef>

#include "core/plan/builder.h"
#include "core/plan/context.h"
#include "core/plan/low_precision.h"

namespace plan {
namespace {

constexpr std::int16_t kUntouched = -2;  // no layer's number

/// What a segment has got since it had so many operators and changes of memory.
Passage behind(const Segment& segment, std::size_t operators, std::size_t memory) {
  Passage out;
  out.operators.assign(segment.operators.begin() + static_cast<std::ptrdiff_t>(operators), segment.operators.end());
  out.memory.assign(segment.memory.begin() + static_cast<std::ptrdiff_t>(memory), segment.memory.end());
  for (MemoryChange& change : out.memory) change.at -= static_cast<std::int32_t>(operators);
  return out;
}

}  // namespace

LayerKind kind_of(const Context& c, int layer, spec::Recompute::Kind recompute, bool backward) {
  return {backward,        recompute, c.model.limited_in(layer), c.model.parts_in(layer), c.model.ropes_in(layer),
          narrow(c, layer)};
}

std::int64_t LayerKind::code() const {
  const auto& [back, again, limits, of, rotates, casts] =
      *this;  // a further field does not compile without a place here
  const auto [mixer, feed_forward, indexes] = of;
  const std::int64_t kinds =
      (static_cast<int>(again) * 4 + static_cast<int>(mixer)) * 4 + static_cast<int>(feed_forward);
  return kinds * 32 + indexes * 16 + back * 8 + limits * 4 + rotates * 2 + casts;
}

PensState SegmentBuilder::state() const {
  const auto of = [](const SegmentBuilder& pen) {
    return PenState{pen.joined_, pen.retained_, pen.first_microbatch, pen.adds_gradients};
  };
  return {of(*this), weights_ != nullptr ? of(*weights_) : PenState{}, weights_ != nullptr, delays_};
}

LayerCopy SegmentBuilder::write_layer(const std::function<void()>& write) {
  const auto size = [](const SegmentBuilder& pen) {
    return std::pair(pen.segment_.operators.size(), pen.segment_.memory.size());
  };
  SegmentBuilder& late = weights_ != nullptr ? *weights_ : *this;
  const auto own = size(*this), apart = size(late);
  const std::int16_t before = late.layer;
  if (weights_ != nullptr) late.layer = kUntouched;
  write();
  LayerCopy out;
  out.used_weights = weights_ != nullptr && late.layer != kUntouched;
  if (!out.used_weights) late.layer = before;
  out.layer = layer;
  out.own = behind(segment_, own.first, own.second);
  if (out.used_weights) out.weights = behind(late.segment_, apart.first, apart.second);
  out.after = state();
  out.phase = phase;
  return out;
}

void SegmentBuilder::append(const Passage& passage, std::int16_t written_layer) {
  const auto begin = static_cast<std::int32_t>(segment_.operators.size());
  segment_.operators.insert(segment_.operators.end(), passage.operators.begin(), passage.operators.end());
  for (std::size_t i = static_cast<std::size_t>(begin); i < segment_.operators.size(); ++i) {
    if (segment_.operators[i].layer == written_layer) segment_.operators[i].layer = layer;
  }
  for (MemoryChange change : passage.memory) {
    change.at += begin;
    segment_.memory.push_back(change);
  }
}

void SegmentBuilder::layer_of(const LayerKind& kind, const std::function<void()>& write) {
  if (delays_ && !weights_->empty()) return write();  // it may run what others delayed in its own midst
  const auto [known, fresh] = pool_.layers().try_emplace({kind, state()});
  LayerCopy& copy = known->second;
  if (fresh) {
    copy = write_layer(write);
    return;
  }
  append(copy.own, copy.layer);
  phase = copy.phase;
  if (copy.used_weights) weights().append(copy.weights, copy.layer);
  joined_ = copy.after.own.joined;
  retained_ = copy.after.own.retained;
  if (weights_ == nullptr) return;
  weights_->joined_ = copy.after.weights.joined;
  weights_->retained_ = copy.after.weights.retained;
}

}  // namespace plan
