// SPDX-License-Identifier: Apache-2.0
#include "core/plan/builder.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <utility>

namespace plan {
namespace {

/// Takes the next free place among the operator's waits, unless it waits for the event already.
void wait_for(Operator& op, EventId event) {
  if (std::find(op.waits.begin(), op.waits.end(), event) != op.waits.end()) return;
  const auto free = std::find(op.waits.begin(), op.waits.end(), EventId{-1});
  assert(free != op.waits.end());
  *free = event;
}

}  // namespace

std::int32_t Pool::work(const Work& work) {
  const std::int32_t guess = work_habit_.guess();
  const std::int32_t number = guess >= 0 && plan_.works[guess] == work ? guess : find_work(work);
  work_habit_.learn(number);
  return number;
}

std::int32_t Pool::find_work(const Work& work) {
  const auto [it, fresh] = works_.try_emplace(work, static_cast<std::int32_t>(plan_.works.size()));
  if (fresh) plan_.works.push_back(work);
  return it->second;
}

std::int32_t Pool::name(std::string_view name) {
  const std::int32_t guess = name_habit_.guess();
  const std::int32_t number = guess >= 0 && plan_.names[guess] == name ? guess : find_name(name);
  name_habit_.learn(number);
  return number;
}

std::int32_t Pool::find_name(std::string_view name) {
  if (const auto it = names_.find(name); it != names_.end()) return it->second;
  const auto id = static_cast<std::int32_t>(plan_.names.size());
  plan_.names.emplace_back(name);
  names_.emplace(name, id);
  return id;
}

std::int16_t Pool::channel(const Channel& channel) {
  for (std::size_t i = 0; i < plan_.channels.size(); ++i) {
    const Channel& known = plan_.channels[i];
    if (known.kind == channel.kind && known.axis == channel.axis && known.from == channel.from &&
        known.to == channel.to) {
      return static_cast<std::int16_t>(i);
    }
  }
  plan_.channels.push_back(channel);
  return static_cast<std::int16_t>(plan_.channels.size() - 1);
}

Operator& SegmentBuilder::append(const Work& work, std::string_view name, Stream stream, int launches) {
  Operator& op = segment_.operators.emplace_back();
  op.work = pool_.work(work);
  op.name = pool_.name(name);
  op.stream = stream;
  op.phase = phase;
  op.layer = layer;
  op.module = module;
  op.launches = static_cast<std::uint16_t>(launches);
  return op;
}

void SegmentBuilder::await_joined(int most) {
  while (std::popcount(joined_) > most) {
    Operator& wait = append(MemoryBound{MemoryBound::Kind::copy, 0, 0, 0}, "events awaited", Stream::compute, 0);
    wait.layer = -1;  // a gather ahead asks for it with the layer to come
    for (int i = 0; i < kMaxWaits && joined_ != 0; ++i, joined_ &= joined_ - 1) {
      wait.waits[i] = static_cast<EventId>(std::countr_zero(joined_));
    }
  }
}

void SegmentBuilder::compute(const Work& work, std::string_view name, int launches,
                             std::initializer_list<Stream> waits) {
  for (const Stream stream : waits) join(stream);
  await_joined(kMaxWaits);  // a stream waits for any number of events, an operator for a few
  Operator& op = append(work, name, Stream::compute, launches);
  for (; joined_ != 0; joined_ &= joined_ - 1) wait_for(op, static_cast<EventId>(std::countr_zero(joined_)));
}

void SegmentBuilder::communicate(const Work& work, std::string_view name, Stream stream, std::int16_t channel,
                                 std::initializer_list<Stream> waits, int launches) {
  // What the compute stream waits for comes before a collective that waits for the compute stream. Exchanges between
  // stages are posted together: a receive that waited for a send could wait for ever.
  const bool behind_compute =
      std::holds_alternative<Collective>(work) && std::find(waits.begin(), waits.end(), Stream::compute) != waits.end();
  if (behind_compute) await_joined(kMaxWaits - static_cast<int>(waits.size()));
  Operator& op = append(work, name, stream, launches);
  op.channel = channel;
  for (const Stream waited : waits) wait_for(op, event_of(waited));
  for (std::uint64_t left = behind_compute ? joined_ : 0; left != 0; left &= left - 1) {
    wait_for(op, static_cast<EventId>(std::countr_zero(left)));
  }
}

void SegmentBuilder::beside(const Work& work, std::string_view name, Stream stream,
                            std::initializer_list<Stream> waits) {
  communicate(work, name, stream, -1, waits, 0);
}

void SegmentBuilder::beside_events(const Work& work, std::string_view name, Stream stream,
                                   std::initializer_list<EventId> waits) {
  Operator& op = append(work, name, stream, 0);
  for (const EventId waited : waits) {
    if (waited >= 0) wait_for(op, waited);
  }
}

void SegmentBuilder::record_compute(EventId event) {
  const auto latest = std::find_if(segment_.operators.rbegin(), segment_.operators.rend(),
                                   [](const Operator& op) { return op.stream == Stream::compute; });
  assert(latest != segment_.operators.rend());
  latest->records = event;
}

void SegmentBuilder::wait(EventId event) {
  auto& waits = segment_.operators.back().waits;
  const auto place = std::find(waits.begin(), waits.end(), EventId{-1});
  assert(place != waits.end());
  *place = event;
}

void SegmentBuilder::take(Category category, std::int64_t bytes, bool apart) {
  if (bytes == 0) return;
  segment_.memory.push_back({static_cast<std::int32_t>(segment_.operators.size()), false, category, bytes, apart});
}

SegmentBuilder& SegmentBuilder::weights() {
  if (weights_ == nullptr) return *this;
  weights_->phase = phase;
  weights_->layer = layer;
  weights_->module = module;
  return *weights_;
}

void SegmentBuilder::run_weights() {
  if (!delays_) return;
  const Segment late = std::exchange(weights_->segment_, {});
  for (MemoryChange change : late.memory) {
    change.at += static_cast<std::int32_t>(segment_.operators.size());
    segment_.memory.push_back(change);
  }
  segment_.operators.insert(segment_.operators.end(), late.operators.begin(), late.operators.end());
}

void SegmentBuilder::retain(std::int64_t bytes) {
  if (weights_ == nullptr) return;
  retained_ += bytes;
  weights_->give(Category::activations, bytes);
}

void SegmentBuilder::give_unretained(Category category, std::int64_t bytes) {
  const std::int64_t left = std::exchange(retained_, 0) - bytes;  // output gradients can outweigh what is released
  if (left == 0) return;
  segment_.memory.push_back({static_cast<std::int32_t>(segment_.operators.size()) - 1, true, category, left});
}

void SegmentBuilder::give(Category category, std::int64_t bytes, bool apart) {
  if (bytes == 0) return;
  assert(!segment_.operators.empty());
  segment_.memory.push_back({static_cast<std::int32_t>(segment_.operators.size()) - 1, true, category, -bytes, apart});
}

}  // namespace plan
