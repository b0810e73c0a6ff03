// SPDX-License-Identifier: Apache-2.0
#include "core/plan/serving.h"

#include <algorithm>

#include "core/plan/block.h"
#include "core/plan/elementwise.h"
#include "core/plan/low_precision.h"
#include "core/plan/mla.h"
#include "core/plan/tensor_parallel.h"

namespace plan {
namespace {

std::int16_t ring(const Context& c, SegmentBuilder& out) {
  return out.pool().channel({Channel::Kind::forward_edge, {}, c.pp - 1, 0});
}

/// Of a sequence's tokens, dealt out one by one, those that a context-parallel rank caches.
std::int64_t share_of(const Context& c, std::int64_t tokens) { return (tokens + c.cp - 1) / c.cp; }

Transfer tokens_of(const Context& c) {
  Transfer transfer = c.stage_transfer;
  transfer.bytes = c.batch * 8;
  return transfer;
}

}  // namespace

std::int64_t seen_by_one(const spec::Model& model, bool limited, std::int64_t context) {
  if (!limited) return context;
  if (model.window > 0) return std::min(model.window, context);
  return context > model.attention_chunk ? (model.attention_chunk + 1) / 2 : context;
}

std::int64_t cached_width(const Context& c) {
  return c.model.mla ? c.model.mla->kv_lora_rank + c.model.mla->rope_head_dim : 2 * c.kv_width;
}

std::int64_t kv_cache_bytes(const Context& c, const Chunk& chunk) {
  std::int64_t tokens = 0;
  for (int i = 0; i < chunk.layers; ++i) {
    const int layer = chunk.first_layer + i;
    const std::int64_t all = c.job.training.cached(),
                       most = std::max(c.model.window_of(layer), c.model.chunk_of(layer));
    tokens += share_of(c, most > 0 ? std::min(most, all) : all);
  }
  return tokens * c.microbatches * c.batch * cached_width(c) * c.kv_element;
}

void Block::write_kv_cache() {
  const std::int64_t elements = c_.tokens * cached_width(c_);
  out_.compute(MemoryBound{MemoryBound::Kind::copy, elements * c_.element, elements * c_.kv_element, 1},
               "write KV cache");
}

/// One query for each sequence against its cache (flash-decoding: the keys are split over the SMs, so that it waits for
/// memory). Without a fused kernel the scores go through memory, too. Latent attention is one K and V head for all
/// queries, whose values are the keys' first numbers.
void Block::attention_decode(bool windowed) {
  const std::int64_t seen = share_of(c_, seen_by_one(c_.model, windowed, c_.context));
  const bool latent = c_.model.mla.has_value();
  const int kv_heads = latent ? 1 : c_.kv_heads;
  const int keys = latent ? static_cast<int>(cached_width(c_)) : c_.head_dim;
  const int values = latent ? c_.model.mla->kv_lora_rank : c_.head_dim;
  if (c_.fused_attention()) {
    out_.compute(Attention{c_.attention, c_.batch, 1, seen, c_.heads, kv_heads, keys, c_.model.causal, 0, false, false,
                           c_.storage, latent ? values : 0, 0, c_.kv_element, latent},
                 "attention", 2);  // the splits, and their sum
  } else {
    const std::int64_t group = c_.heads / kv_heads, batch = c_.batch * kv_heads;
    out_.compute(Matmul{group, seen, keys, batch, c_.operand, c_.storage, false}, "attention scores");
    written_softmax(c_.batch * c_.heads * seen, false);
    out_.compute(Matmul{group, values, seen, batch, c_.operand, c_.storage, false}, "attention values");
  }
  join_parts(std::int64_t{c_.heads} * values);
  if (latent) LatentAttention(c_, out_).absorbed_output();
}

/// Each context-parallel rank has attended to its part of the cache: with the log-sum-exps of all it weighs its own
/// output, and the outputs are summed (as vLLM's decode context parallelism: lse all-gather, output all-reduce).
void Block::join_parts(std::int64_t width) {
  if (c_.cp == 1) return;
  const std::int16_t channel = out_.pool().channel({Channel::Kind::group, Axis::cp});
  const auto meet = [&](CollectiveKind kind, std::int64_t bytes, const char* name) {
    out_.communicate(Collective{kind, bytes, c_.group(Axis::cp)}, name, Stream::cp, channel, {Stream::compute});
    out_.join(Stream::cp);
  };
  const std::int64_t rows = c_.batch * c_.heads, outputs = c_.batch * width * c_.element;
  meet(CollectiveKind::all_gather, rows * c_.cp * 4, "log-sum-exp all-gather");
  out_.compute(MemoryBound{MemoryBound::Kind::elementwise, outputs + rows * c_.cp * 4, outputs, 1},
               "attention output correction");
  meet(CollectiveKind::all_reduce, outputs, "attention output all-reduce");
}

void Block::infer(bool windowed) {
  out_.phase = Phase::forward;
  // At the widest point: the residual stream, a norm's output, and attention's or the feed-forward's own tensors.
  const std::int64_t widest = std::max(c_.qkv_width + c_.q_width, c_.up_width + c_.ffn);
  const std::int64_t passing = c_.tokens * (2 * c_.hidden + widest) * c_.element;
  out_.take(Category::workspace, passing);
  forward_operators(windowed);
  out_.give(Category::workspace, passing);
}

void sample_tokens(const Context& c, SegmentBuilder& out) {
  out.layer = -1;
  TensorParallel linear(c, out);
  // Under sequence parallelism the last tokens are on the last rank.
  if (c.sp) linear.collective(CollectiveKind::broadcast, c.batch * c.hidden, "last tokens broadcast");
  const Chain norm = norm_forward(c, c.batch * c.hidden, c.hidden, c.element);
  out.compute(norm.work, "final norm", norm.launches);
  const std::int64_t logits = c.batch * c.vocab * c.tp;  // of the whole vocabulary
  out.take(Category::logits, logits * (c.element + 4));
  out.compute(Matmul{c.batch, c.vocab, c.hidden, 1, matmul_dtype(c, -1), c.storage, false}, "output head");
  linear.collective(CollectiveKind::all_gather, logits, "logits all-gather");
  // Cast to fp32, softmax, and the draw from it.
  out.compute(MemoryBound{MemoryBound::Kind::softmax, logits * (c.element + 8), logits * 8, 3}, "sampling", 3);
  out.give(Category::logits, logits * (c.element + 4));
}

void send_tokens(const Context& c, SegmentBuilder& out) {
  out.communicate(tokens_of(c), "send tokens", Stream::send_next, ring(c, out), {Stream::compute});
}

void receive_tokens(const Context& c, SegmentBuilder& out) {
  out.layer = -1;
  out.communicate(tokens_of(c), "receive tokens", Stream::recv_prev, ring(c, out), {});
  out.join(Stream::recv_prev);
}

}  // namespace plan
