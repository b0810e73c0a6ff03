// SPDX-License-Identifier: Apache-2.0
#include "core/plan/overlap.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace plan {
namespace {

constexpr EventId kFirstFree = 20;  // events from here on are this file's

struct InHalf {
  const Segment* half;
  std::int32_t index;  // in its half
};

bool exchange(const Operator& op) { return op.stream == Stream::ep; }

bool between_stages(const Operator& op) {
  return op.stream == Stream::send_next || op.stream == Stream::recv_prev || op.stream == Stream::send_prev ||
         op.stream == Stream::recv_next;
}

bool collective(const Operator& op) { return op.channel >= 0 && !between_stages(op); }

bool sends(const Operator& op) { return op.stream == Stream::send_next || op.stream == Stream::send_prev; }

/// The operator of a segment that each wait means; -1: one before the segment.
std::vector<std::array<std::int32_t, kMaxWaits>> sources(const Segment& half) {
  std::array<std::int32_t, kEvents> latest;
  latest.fill(-1);
  std::vector<std::array<std::int32_t, kMaxWaits>> out;
  for (std::size_t i = 0; i < half.operators.size(); ++i) {
    const Operator& op = half.operators[i];
    auto& found = out.emplace_back();
    for (int w = 0; w < kMaxWaits; ++w) found[w] = op.waits[w] < 0 ? -1 : latest[op.waits[w]];
    latest[event_of(op.stream)] = static_cast<std::int32_t>(i);
    if (op.records >= 0) latest[op.records] = static_cast<std::int32_t>(i);
  }
  return out;
}

std::vector<InHalf> merged(const Segment& forward, const Segment& backward) {
  const std::array<const Segment*, 2> halves{&backward, &forward};
  const std::array waits{sources(backward), sources(forward)};
  const bool experts =
      std::ranges::any_of(halves, [](const Segment* half) { return std::ranges::any_of(half->operators, exchange); });
  const auto travels = experts ? exchange : collective;
  std::array<std::int32_t, 2> next{};
  std::vector<InHalf> out;
  const std::size_t total = forward.operators.size() + backward.operators.size();
  out.reserve(total);
  for (int turn = 0; out.size() < total; turn = 1 - turn) {
    const std::vector<Operator>& ops = halves[turn]->operators;
    const std::int32_t begin = next[turn];
    for (std::int32_t& at = next[turn]; at < static_cast<std::int32_t>(ops.size()); ++at) {
      if (at > begin && sends(ops[at - 1])) break;
      const auto under_way = [&](std::int32_t source) { return source >= begin && travels(ops[source]); };
      if (std::ranges::any_of(waits[turn][at], under_way)) break;
      out.push_back({halves[turn], at});
    }
  }
  return out;
}

/// Gives every operator of a half that is waited for across turns an event that the other half does not record.
class Renamer {
 public:
  Renamer(const std::vector<InHalf>& order, std::vector<Operator>& ops, const Segment& half)
      : ops_(ops), place_(half.operators.size()), last_use_(half.operators.size(), -1) {
    for (std::size_t at = 0; at < order.size(); ++at) {
      if (order[at].half == &half) place_[order[at].index] = static_cast<std::int32_t>(at);
    }
    sources_ = sources(half);
    for (std::size_t i = 0; i < sources_.size(); ++i) {
      for (const std::int32_t source : sources_[i]) {
        if (source >= 0) last_use_[source] = place_[i];
      }
    }
  }

  /// `until`: of each free event, the last place where its present meaning is waited for.
  void run(std::array<std::int32_t, kEvents>& until) {
    std::vector<EventId> given(place_.size(), -1);
    for (std::size_t i = 0; i < place_.size(); ++i) {
      Operator& op = ops_[place_[i]];
      for (int w = 0; w < kMaxWaits; ++w) {
        const std::int32_t source = sources_[i][w];
        if (source >= 0 && given[source] >= 0) op.waits[w] = given[source];
      }
      if (last_use_[i] < 0 || op.stream == Stream::compute) continue;  // both halves share the compute stream's order
      for (EventId event = kFirstFree; event < kEvents; ++event) {
        if (until[event] >= place_[i]) continue;
        until[event] = last_use_[i];
        given[i] = op.records = event;
        break;
      }
      assert(given[i] >= 0);
    }
  }

 private:
  std::vector<Operator>& ops_;
  std::vector<std::int32_t> place_, last_use_;
  std::vector<std::array<std::int32_t, kMaxWaits>> sources_;
};

/// A communicator's collectives follow one another on every rank as they are issued. Within a half the waits see to it;
/// here one waits for the latest of the other half that another stream carries (zero 3 gathers beside reductions).
void order_channels(const std::vector<InHalf>& order, std::vector<Operator>& ops) {
  std::map<std::int16_t, std::size_t> latest;  // of each channel
  for (std::size_t at = 0; at < ops.size(); ++at) {
    Operator& op = ops[at];
    if (!collective(op)) continue;
    if (const auto it = latest.find(op.channel); it != latest.end()) {
      const std::size_t before = it->second;
      const EventId event = event_of(ops[before].stream);  // which every operator of that stream records
      const auto free = std::ranges::find(op.waits, EventId{-1});
      if (order[before].half != order[at].half && ops[before].stream != op.stream) {
        assert(free != op.waits.end());
        *free = event;
      }
    }
    latest[op.channel] = at;
  }
}

}  // namespace

Segment overlap(const Segment& forward, const Segment& backward) {
  const std::vector<InHalf> order = merged(forward, backward);
  Segment out;
  out.name = backward.name + " beside " + forward.name;
  for (const InHalf& p : order) out.operators.push_back(p.half->operators[p.index]);
  // Places grow within a half, but the halves are renamed one after the other: each has events of its own.
  std::array<std::int32_t, kEvents> until;
  for (const bool second : {false, true}) {
    until.fill(static_cast<std::int32_t>(order.size()));
    for (int event = kFirstFree + (second ? 1 : 0); event < kEvents; event += 2) until[event] = -1;
    Renamer(order, out.operators, second ? backward : forward).run(until);
  }
  order_channels(order, out.operators);
  std::array<std::size_t, 2> next{};
  for (std::size_t at = 0; at < order.size(); ++at) {
    const Segment& half = *order[at].half;
    std::size_t& n = next[&half == &backward];
    for (; n < half.memory.size() && half.memory[n].at == order[at].index; ++n) {
      out.memory.push_back(half.memory[n]);
      out.memory.back().at = static_cast<std::int32_t>(at);
    }
  }
  assert(out.memory.size() == forward.memory.size() + backward.memory.size());  // each is in order
  return out;
}

}  // namespace plan
