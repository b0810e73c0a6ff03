// SPDX-License-Identifier: Apache-2.0
#include "real/measure/instances.h"

#include <algorithm>

#include "core/plan/channel_name.h"

namespace real {
namespace {

trace::Span span_of(const plan::Call& call, const plan::Operator& op) {
  const bool other = call.other >= 0 && op.phase != plan::Phase::forward;
  trace::Span span;
  span.name = op.name;
  span.work = op.work;
  span.layer = op.layer;
  span.phase = static_cast<std::uint8_t>(op.phase);
  span.channel = op.channel;
  span.microbatch = other ? call.other : call.microbatch;
  span.chunk = other ? call.other_chunk : call.chunk;
  return span;
}

}  // namespace

std::vector<Launched> instances_of(const plan::Plan& plan, const plan::Role& role) {
  std::vector<Launched> out;
  for (const plan::Call& call : role.calls) {
    for (const plan::Operator& op : plan.segments[call.segment].operators) {
      out.push_back({out.size() + 1, static_cast<std::size_t>(op.stream), span_of(call, op)});
    }
  }
  return out;
}

trace::Trace frame_of(const plan::Plan& plan, int rank, int stage) {
  trace::Trace frame;
  frame.names = plan.names;
  frame.phases.assign(plan::kPhaseNames.begin(), plan::kPhaseNames.end());
  for (const plan::Channel& channel : plan.channels) frame.channels.emplace_back(plan::channel_name(channel));
  frame.streams = plan::kStreams;
  for (const std::string_view stream : plan::kStreamNames) {
    frame.tracks.push_back({rank, stage, std::string(stream), {}});
  }
  return frame;
}

Records without_outsiders(Records records) {
  std::vector<std::uint32_t> outside;
  for (const Ownership& one : records.owners) {
    if (one.owner == kOutsideOperators) outside.push_back(one.correlation);
  }
  std::sort(outside.begin(), outside.end());
  const auto is_outside = [&](std::uint32_t correlation) {
    return std::binary_search(outside.begin(), outside.end(), correlation);
  };
  std::erase_if(records.device, [&](const DeviceRecord& record) { return is_outside(record.correlation); });
  std::erase_if(records.owners, [](const Ownership& one) { return one.owner == kOutsideOperators; });
  return records;
}

}  // namespace real
