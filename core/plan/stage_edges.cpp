// SPDX-License-Identifier: Apache-2.0
#include "core/plan/stage_edges.h"

#include "core/plan/receives.h"

namespace plan {

void StageEdges::receive(SegmentBuilder& out, int chunk, bool backward, bool ahead) const {
  out.layer = -1;
  const int from = backward ? c_.placement.behind(stage_, chunk) : c_.placement.before(stage_, chunk);
  const bool crossing = c_.placement.crossing();
  const Stream stream = crossing ? receiving_from(stage_, from) : backward ? Stream::recv_next : Stream::recv_prev;
  const std::int16_t channel =
      out.pool().channel({backward ? Channel::Kind::backward_edge : Channel::Kind::forward_edge, {}, from, stage_});
  const char* name = backward ? "receive gradient" : "receive activations";
  if (crossing) {  // post_receives() puts it into a call of its own
  } else if (c_.overlap_p2p) {
    out.communicate(c_.transfer_between(from, stage_), name, stream, channel, {});
  } else {
    out.communicate(c_.transfer_between(from, stage_), name, stream, channel, {Stream::compute});
  }
  if (ahead) return;
  if (!c_.overlap_p2p && c_.job.framework.synchronizes_p2p) {
    out.join(stream);
    out.compute(HostSync{}, "exchange awaited by the host", 0);
  }
  if (!c_.scatter_gather) return out.join(stream);
  const std::int16_t group = out.pool().channel({Channel::Kind::group, Axis::tp});
  const Collective gather{CollectiveKind::all_gather, c_.tokens * c_.hidden * c_.element, c_.tp_group};
  out.communicate(gather, "restore activations all-gather", Stream::tp, group, {stream});
  out.join(Stream::tp);
}

void StageEdges::finish_sends(SegmentBuilder& out) const {
  if (c_.pp == 1 || c_.overlap_p2p || c_.vpp > 1) return;
  out.join(Stream::send_next);
  out.join(Stream::send_prev);
}

void StageEdges::send(SegmentBuilder& out, int chunk, bool backward) const {
  out.layer = -1;
  const int to = backward ? c_.placement.before(stage_, chunk) : c_.placement.behind(stage_, chunk);
  const std::int16_t channel =
      out.pool().channel({backward ? Channel::Kind::backward_edge : Channel::Kind::forward_edge, {}, stage_, to});
  const char* name = backward ? "send gradient" : "send activations";
  const Stream stream = c_.placement.crossing() ? sending_to(stage_, to)
                        : backward              ? Stream::send_prev
                                                : Stream::send_next;
  if (c_.tp > 1) {  // a chunk without layers ends with the embedding's collective
    out.communicate(c_.transfer_between(stage_, to), name, stream, channel, {Stream::compute, Stream::tp});
  } else {
    out.communicate(c_.transfer_between(stage_, to), name, stream, channel, {Stream::compute});
  }
}

}  // namespace plan
