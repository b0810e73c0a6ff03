// tests/sim/engine/oracle.h -- the engine's law without its clock: every operator's times as the least solution of
// inequalities, found by sweeping over all of them until nothing moves. Slow and plain; knows no sharing, jitter or
// slow ranks.
//   issued   the host's sum so far; a synchronizing operator sets it to that operator's end at least; with kWindow
//   operators
//            under way it waits for the next one to end
//   ready    issued, and ended: its predecessor on the stream, the operators that its waits captured when it was issued
//   start    ready, of every member of its meeting
//   end      start + duration, of every member of its meeting
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <functional>
#include <map>
#include <queue>
#include <utility>
#include <vector>

#include "sim/engine/engine.h"

namespace oracle {

using trace::Ticks;

inline constexpr std::size_t kWindow = 1024;

struct Timed {
  int stream = 0;
  std::vector<std::size_t> behind;  // operators of the same instance that must have ended
  const sim::Step* step = nullptr;
  int meeting = -1;  // index into the list of gatherings
  Ticks issued = 0, ready = 0, start = 0, end = 0;
};

struct Solution {
  std::vector<std::vector<Timed>> programs;  // by instance, in issue order
  bool settled = false;                      // false: no solution, the programs deadlock
};

/// Writes the calls of every instance out and notes what each operator stands behind.
inline Solution expanded(const sim::EngineInput& in,
                         std::vector<std::vector<std::pair<int, std::size_t>>>& gatherings) {
  Solution out;
  std::map<std::pair<int, int>, int> known;  // (meeting, how often) -> gathering
  for (std::size_t i = 0; i < in.instances.size(); ++i) {
    std::vector<Timed>& program = out.programs.emplace_back();
    std::array<int, plan::kEvents> recorded;
    recorded.fill(-1);
    std::array<int, plan::kStreams> latest;
    latest.fill(-1);
    std::map<int, int> times;
    for (const plan::Call& call : in.plan->roles[in.instances[i].role].calls) {
      for (std::int32_t at = in.segment_begin[call.segment]; at < in.segment_begin[call.segment + 1]; ++at) {
        const sim::Step& step = in.steps[at];
        Timed op;
        op.step = &step;
        op.stream = step.stream;
        if (latest[step.stream] >= 0) op.behind.push_back(latest[step.stream]);
        for (const plan::EventId wait : step.waits) {
          if (wait >= 0 && recorded[wait] >= 0) op.behind.push_back(recorded[wait]);
        }
        const int index = static_cast<int>(program.size());
        latest[step.stream] = recorded[step.stream] = index;
        if (step.records >= 0) recorded[step.records] = index;
        const int meeting = step.channel < 0 ? -1 : in.meeting_of[i * in.plan->channels.size() + step.channel];
        if (meeting >= 0) {
          const auto [it, fresh] = known.try_emplace({meeting, times[meeting]++}, static_cast<int>(gatherings.size()));
          if (fresh) gatherings.emplace_back();
          op.meeting = it->second;
          gatherings[it->second].emplace_back(static_cast<int>(i), program.size());
        }
        program.push_back(std::move(op));
      }
    }
  }
  return out;
}

/// One sweep over an instance; true when something moved.
inline bool sweep(const sim::EngineInput& in, std::vector<Timed>& program) {
  bool moved = false;
  Ticks host = in.host_start;
  std::priority_queue<Ticks, std::vector<Ticks>, std::greater<>> under_way;  // ends, earliest first
  for (Timed& op : program) {
    if (under_way.size() == kWindow) {
      host = std::max(host, under_way.top());
      under_way.pop();
    }
    host += op.step->host;
    op.issued = host;
    Ticks ready = host;
    for (const std::size_t before : op.behind) ready = std::max(ready, program[before].end);
    const Ticks start = std::max(op.start, ready), end = std::max(op.end, start + op.step->duration);
    moved |= ready != op.ready || start != op.start || end != op.end;
    op.ready = ready;
    op.start = start;
    op.end = end;
    under_way.push(op.end);
    if (op.step->synchronizes) host = std::max(host, op.end);
  }
  return moved;
}

inline Solution solve(const sim::EngineInput& in) {
  std::vector<std::vector<std::pair<int, std::size_t>>> gatherings;
  Solution out = expanded(in, gatherings);
  std::size_t operators = 1;
  for (const auto& program : out.programs) operators += program.size();
  for (std::size_t round = 0; round <= operators; ++round) {
    bool moved = false;
    for (auto& program : out.programs) moved |= sweep(in, program);
    for (const auto& members : gatherings) {
      Ticks start = 0, end = 0;
      for (const auto& [i, at] : members) {
        start = std::max(start, out.programs[i][at].start);
        end = std::max(end, out.programs[i][at].end);
      }
      for (const auto& [i, at] : members) {
        Timed& op = out.programs[i][at];
        moved |= op.start != start || op.end != end;
        op.start = start;
        op.end = end;
      }
    }
    if (!moved) {
      out.settled = true;
      return out;
    }
  }
  return out;
}

}  // namespace oracle
