// SPDX-License-Identifier: Apache-2.0
#include "core/plan/build.h"

#include <algorithm>
#include <cstddef>
#include <utility>

#include "core/plan/block.h"
#include "core/plan/builder.h"
#include "core/plan/context.h"
#include "core/plan/data_parallel.h"
#include "core/plan/ends.h"
#include "core/plan/flops.h"
#include "core/plan/layer_list.h"
#include "core/plan/schedule/schedule.h"
#include "core/plan/serving.h"
#include "core/plan/shares.h"
#include "core/plan/step_ends.h"
#include "core/plan/storage.h"

namespace plan {
namespace {

class StageBuilder {
 public:
  StageBuilder(const Context& c, Pool& pool, Plan& plan, int stage, std::vector<Chunk> chunks)
      : c_(c), pool_(pool), plan_(plan), stage_(stage), chunks_(std::move(chunks)) {}

  Role build();
  Role serve(int rounds);

 private:
  std::int32_t add(SegmentBuilder& segment);
  void receive(SegmentBuilder&, bool backward);
  void send(SegmentBuilder&, bool backward);
  void finish_sends(SegmentBuilder&);
  std::int32_t forward(const Chunk&, bool gathers);
  std::int32_t infer(const Chunk&, bool takes_tokens, bool sends_tokens);
  std::int32_t backward(const Chunk&, bool reduces);
  void gather_group(SegmentBuilder&, const Chunk&, int first_layer);

  const Context& c_;
  Pool& pool_;
  Plan& plan_;
  int stage_;
  std::vector<Chunk> chunks_;
};

std::int32_t StageBuilder::add(SegmentBuilder& segment) {
  plan_.segments.push_back(segment.finish());
  return static_cast<std::int32_t>(plan_.segments.size()) - 1;
}

void StageBuilder::receive(SegmentBuilder& out, bool backward) {
  out.layer = -1;
  const int from = backward ? (stage_ + 1) % c_.pp : (stage_ + c_.pp - 1) % c_.pp;
  const Stream stream = backward ? Stream::recv_next : Stream::recv_prev;
  const std::int16_t channel =
      pool_.channel({backward ? Channel::Kind::backward_edge : Channel::Kind::forward_edge, {}, from, stage_});
  const char* name = backward ? "receive gradient" : "receive activations";
  if (c_.overlap_p2p) {
    out.communicate(c_.stage_transfer, name, stream, channel, {});
  } else {
    out.communicate(c_.stage_transfer, name, stream, channel, {Stream::compute});
  }
  if (!c_.scatter_gather) return out.join(stream);
  const std::int16_t group = pool_.channel({Channel::Kind::group, Axis::tp});
  const Collective gather{CollectiveKind::all_gather, c_.tokens * c_.hidden * c_.element, c_.tp_group};
  out.communicate(gather, "restore activations all-gather", Stream::tp, group, {stream});
  out.join(Stream::tp);
}

/// A blocking exchange: what was sent has arrived before anything else is computed. With several chunks a stage the
/// receiver takes what comes round the ring before it needs it, so there only receiving blocks.
void StageBuilder::finish_sends(SegmentBuilder& out) {
  if (c_.pp == 1 || c_.overlap_p2p || c_.vpp > 1) return;
  out.join(Stream::send_next);
  out.join(Stream::send_prev);
}

void StageBuilder::send(SegmentBuilder& out, bool backward) {
  out.layer = -1;
  const int to = backward ? (stage_ + c_.pp - 1) % c_.pp : (stage_ + 1) % c_.pp;
  const std::int16_t channel =
      pool_.channel({backward ? Channel::Kind::backward_edge : Channel::Kind::forward_edge, {}, stage_, to});
  const char* name = backward ? "send gradient" : "send activations";
  const Stream stream = backward ? Stream::send_prev : Stream::send_next;
  if (c_.tp > 1) {  // a chunk without layers ends with the embedding's collective
    out.communicate(c_.stage_transfer, name, stream, channel, {Stream::compute, Stream::tp});
  } else {
    out.communicate(c_.stage_transfer, name, stream, channel, {Stream::compute});
  }
}

/// Before the first layer of each parameter bucket its parameters are gathered; later layers of the bucket find them
/// there.
void StageBuilder::gather_group(SegmentBuilder& out, const Chunk& chunk, int first_layer) {
  const std::int64_t layer = layer_parameters(c_, chunk.first_layer).total();
  const auto bucket = static_cast<std::int64_t>(c_.job.framework.parameter_bucket.si()) / c_.element;
  const int group = bucket == 0 ? chunk.layers : static_cast<int>(std::max<std::int64_t>(1, bucket / layer));
  if (first_layer % group != 0) return;
  const int layers = std::min(group, chunk.layers - first_layer);
  Held parameters;
  for (int i = 0; i < layers; ++i) parameters += layer_parameters(c_, chunk.first_layer + first_layer + i);
  if (first_layer == 0 && chunk.first) parameters.dense += embedding_parameters(c_);
  if (first_layer + layers == chunk.layers && chunk.last) parameters.dense += head_parameters(c_);
  gather_parameters(c_, out, parameters, false);
  if (c_.replicated()) out.join(Stream::dp);
}

std::int32_t StageBuilder::forward(const Chunk& chunk, bool gathers) {
  SegmentBuilder out(pool_, gathers ? "first forward" : "forward");
  out.phase = Phase::forward;
  finish_sends(out);
  if (!chunk.first) receive(out, false);
  if (gathers && chunk.layers == 0) {
    gather_parameters(c_, out, chunk_parameters(c_, chunk), false);
    if (c_.replicated()) out.join(Stream::dp);
  }
  if (gathers && chunk.layers > 0) gather_group(out, chunk, 0);
  if (chunk.first) embedding_forward(c_, out);
  for (int i = 0; i < chunk.layers; ++i) {
    if (gathers && i > 0) gather_group(out, chunk, i);
    const int layer = chunk.first_layer + i;
    out.layer = static_cast<std::int16_t>(layer);
    Block(c_, out).forward(recompute_of(c_, chunk.index_in_stage + i), c_.model.window_of(layer) > 0);
  }
  if (chunk.last) {
    head_forward(c_, out);
  } else {
    send(out, false);
  }
  return add(out);
}

std::int32_t StageBuilder::backward(const Chunk& chunk, bool reduces) {
  SegmentBuilder out(pool_, reduces ? "last backward" : "backward");
  out.phase = Phase::backward;
  finish_sends(out);
  GradientBuckets buckets(c_, out);
  if (chunk.last) {
    head_backward(c_, out);
    if (reduces) buckets.add({head_parameters(c_), 0});
  } else {
    receive(out, true);
  }
  for (int i = chunk.layers - 1; i >= 0; --i) {
    const int layer = chunk.first_layer + i;
    out.layer = static_cast<std::int16_t>(layer);
    Block(c_, out).backward(recompute_of(c_, chunk.index_in_stage + i), c_.model.window_of(layer) > 0);
    if (reduces) buckets.add(layer_parameters(c_, layer));
  }
  if (chunk.first) {
    embedding_backward(c_, out);
    if (reduces) buckets.add({embedding_parameters(c_), 0});
  } else {
    send(out, true);
  }
  if (reduces) buckets.flush();
  return add(out);
}

/// One forward without a backward to come; tokens go round from the last stage to the first.
std::int32_t StageBuilder::infer(const Chunk& chunk, bool takes_tokens, bool sends_tokens) {
  SegmentBuilder out(pool_, c_.decodes ? "decode" : "prefill");
  finish_sends(out);
  if (chunk.first) {
    if (takes_tokens) receive_tokens(c_, out);
    embedding_forward(c_, out);
  } else {
    receive(out, false);
  }
  for (int i = 0; i < chunk.layers; ++i) {
    const int layer = chunk.first_layer + i;
    out.layer = static_cast<std::int16_t>(layer);
    Block(c_, out).infer(c_.model.window_of(layer) > 0);
  }
  if (!chunk.last) {
    send(out, false);
  } else {
    sample_tokens(c_, out);
    if (sends_tokens) send_tokens(c_, out);
  }
  return add(out);
}

Role StageBuilder::serve(int rounds) {
  Role role;
  role.stage = stage_;
  role.ranks = c_.axes.ranks;
  role.first_rank = stage_ * role.ranks;
  const Chunk& chunk = chunks_.front();
  role.resident[static_cast<int>(Category::parameters)] = chunk_parameters(c_, chunk).total() * c_.element;
  role.resident[static_cast<int>(Category::kv_cache)] = kv_cache_bytes(c_, chunk);
  const std::int32_t lone = infer(chunk, false, false);
  const bool goes_round = rounds > 1 && c_.pp > 1;
  const std::int32_t first = goes_round ? infer(chunk, false, true) : lone;
  const std::int32_t middle = goes_round ? infer(chunk, true, true) : lone;
  const std::int32_t last = goes_round ? infer(chunk, true, false) : lone;
  for (int round = 0; round < rounds; ++round) {
    const std::int32_t segment = round + 1 == rounds ? last : round == 0 ? first : middle;
    for (int m = 0; m < static_cast<int>(c_.microbatches); ++m) role.calls.push_back({segment, m, 0});
  }
  return role;
}

Role StageBuilder::build() {
  Role role;
  role.stage = stage_;
  role.ranks = c_.axes.ranks;
  role.first_rank = stage_ * role.ranks;
  Held held;
  for (const Chunk& chunk : chunks_) held += chunk_parameters(c_, chunk);
  const std::int64_t parameters = held.total();
  const std::int64_t gradient = c_.gradient_element + (c_.separate_gradients ? c_.element : 0);
  role.resident[static_cast<int>(Category::parameters)] = parameters * c_.element;
  role.resident[static_cast<int>(Category::gradients)] = parameters * gradient;
  role.resident[static_cast<int>(Category::optimizer)] = optimizer_share(c_, held).total() * optimizer_bytes(c_);

  SegmentBuilder begin(pool_, "begin");
  const std::int64_t checkpoint = checkpoint_bytes(c_, held);
  begin_storage(c_, begin, stage_, checkpoint);
  begin_step(c_, begin, parameters);
  role.calls.push_back({add(begin), -1, -1});

  const bool gathers = c_.strategy.zero >= 1 && c_.overlap_param_gather && c_.replicated();
  const bool reduces = c_.overlap_grad_reduce && c_.replicated();
  std::vector<std::int32_t> forwards, backwards, first, last;
  for (const Chunk& chunk : chunks_) {
    forwards.push_back(forward(chunk, false));
    backwards.push_back(backward(chunk, false));
    first.push_back(gathers ? forward(chunk, true) : forwards.back());
    last.push_back(reduces ? backward(chunk, true) : backwards.back());
  }
  const int m = static_cast<int>(c_.microbatches);
  const std::vector<Slot> slots = order(c_.strategy.schedule, {stage_, c_.pp, c_.vpp, m});
  std::vector<int> forwarded(chunks_.size()), backwarded(chunks_.size());
  role.calls.reserve(slots.size() + 2);
  for (const Slot& slot : slots) {
    std::int32_t segment;
    if (slot.backward) {
      segment = ++backwarded[slot.chunk] == m ? last[slot.chunk] : backwards[slot.chunk];
    } else {
      segment = forwarded[slot.chunk]++ == 0 ? first[slot.chunk] : forwards[slot.chunk];
    }
    role.calls.push_back({segment, slot.microbatch, static_cast<std::int16_t>(slot.chunk)});
  }
  SegmentBuilder end(pool_, "end");
  end_step(c_, end, chunks_, stage_);
  end_storage(c_, end, checkpoint);
  role.calls.push_back({add(end), -1, -1});
  return role;
}

}  // namespace

Plan build(const spec::Job& job, int rounds) {
  const Context context(job);
  Plan plan;
  plan.tp = context.tp;
  plan.dp = context.dp;
  plan.cp = job.strategy.cp;
  plan.pp = context.pp;
  plan.axes = context.axes;
  Pool pool(plan);
  std::vector<std::vector<Chunk>> chunks;
  if (!job.model.is_list()) chunks = chunks_of(context);
  for (int stage = 0; stage < context.pp; ++stage) {
    if (job.model.is_list()) {
      plan.roles.push_back(layer_list_role(context, pool, plan));
      break;
    }
    StageBuilder builder(context, pool, plan, stage, std::move(chunks[stage]));
    plan.roles.push_back(context.serves ? builder.serve(rounds) : builder.build());
  }
  plan.model_flops = model_flops(job);
  plan.hardware_flops = hardware_flops(job);
  plan.tokens = static_cast<double>(job.training.global_batch) * static_cast<double>(context.sequence);
  return plan;
}

std::int64_t Plan::operators() const {
  std::int64_t count = 0;
  for (const Role& role : roles) {
    for (const Call& call : role.calls) count += static_cast<std::int64_t>(segments[call.segment].operators.size());
  }
  return count;
}

}  // namespace plan
