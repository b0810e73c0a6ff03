// SPDX-License-Identifier: Apache-2.0
#include "core/plan/receives.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <variant>
#include <vector>

namespace plan {
namespace {

using Link = std::pair<int, int>;  // from, to

bool sends(const Plan& plan, const Operator& op) {
  const bool out = op.stream == Stream::send_next || op.stream == Stream::send_prev;
  return out && std::holds_alternative<Transfer>(plan.works[op.work]);
}

/// Whether each of the messages over a link is a gradient, in the order of sending.
std::map<Link, std::vector<bool>> sent_over(const Plan& plan) {
  std::vector<std::vector<std::int16_t>> channels(plan.segments.size());  // that each segment sends on
  for (std::size_t s = 0; s < plan.segments.size(); ++s) {
    for (const Operator& op : plan.segments[s].operators) {
      if (sends(plan, op)) channels[s].push_back(op.channel);
    }
  }
  std::map<Link, std::vector<bool>> out;
  for (const Role& role : plan.roles) {
    for (const Call& call : role.calls) {
      for (const std::int16_t number : channels[call.segment]) {
        const Channel& channel = plan.channels[number];
        out[{channel.from, channel.to}].push_back(channel.kind == Channel::Kind::backward_edge);
      }
    }
  }
  return out;
}

/// One link's end: how many messages of either kind were posted and are needed so far.
struct Inbox {
  std::size_t posted = 0;
  std::int32_t count[2] = {0, 0}, needed[2] = {0, 0};
  std::int32_t segment[2] = {-1, -1};
};

class Poster {
 public:
  Poster(const Context& c, Pool& pool, Plan& plan, const std::map<Link, std::vector<bool>>& sent)
      : c_(c), pool_(pool), plan_(plan), sent_(sent) {}

  void run(Role& role) {
    inboxes_.clear();
    std::vector<Call> calls;
    calls.reserve(2 * role.calls.size());
    for (const Call& call : role.calls) {
      if (call.microbatch >= 0) {
        const bool two = call.pass == Pass::overlapped;
        const bool returns = call.pass == Pass::backward || call.pass == Pass::input_gradient;
        if (two || call.pass == Pass::forward) need(role.stage, call.chunk, false, calls);
        if (two || returns) need(role.stage, two ? call.other_chunk : call.chunk, true, calls);
      }
      calls.push_back(call);
    }
    role.calls = std::move(calls);
  }

 private:
  void need(int stage, int chunk, bool gradient, std::vector<Call>& calls) {
    const int from = gradient ? c_.placement.behind(stage, chunk) : c_.placement.before(stage, chunk);
    if (from < 0 || from == stage) return;
    Inbox& inbox = inboxes_[from];
    const std::vector<bool>& sent = sent_.at({from, stage});
    const std::int32_t wanted = ++inbox.needed[gradient];
    while (inbox.count[gradient] < wanted) {
      const bool kind = sent[inbox.posted++];
      const std::int32_t microbatch = inbox.count[kind]++;
      calls.push_back({receive(stage, from, kind, inbox), microbatch, chunk_fed(stage, from, kind),
                       kind ? Pass::backward : Pass::forward});
    }
  }

  std::int16_t chunk_fed(int stage, int from, bool gradient) const {
    const int feeder = gradient ? c_.placement.behind(stage, 0) : c_.placement.before(stage, 0);
    return feeder == from ? 0 : 1;
  }

  std::int32_t receive(int stage, int from, bool gradient, Inbox& inbox) {
    if (inbox.segment[gradient] >= 0) return inbox.segment[gradient];
    const char* name = gradient ? "receive gradient" : "receive activations";
    SegmentBuilder out(pool_, name);
    out.phase = gradient ? Phase::backward : Phase::forward;
    const auto kind = gradient ? Channel::Kind::backward_edge : Channel::Kind::forward_edge;
    out.communicate(c_.transfer_between(from, stage), name, receiving_from(stage, from),
                    pool_.channel({kind, {}, from, stage}), {});
    plan_.segments.push_back(out.finish());
    return inbox.segment[gradient] = static_cast<std::int32_t>(plan_.segments.size()) - 1;
  }

  const Context& c_;
  Pool& pool_;
  Plan& plan_;
  const std::map<Link, std::vector<bool>>& sent_;
  std::map<int, Inbox> inboxes_;  // by the stage that sends
};

}  // namespace

void post_receives(const Context& c, Pool& pool, Plan& plan) {
  const std::map<Link, std::vector<bool>> sent = sent_over(plan);
  Poster poster(c, pool, plan, sent);
  for (Role& role : plan.roles) poster.run(role);
}

}  // namespace plan
