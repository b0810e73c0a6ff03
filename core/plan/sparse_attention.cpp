// SPDX-License-Identifier: Apache-2.0
#include "core/plan/sparse_attention.h"

#include <algorithm>

#include "core/plan/elementwise.h"
#include "core/plan/low_precision.h"
#include "core/plan/ring_steps.h"

namespace plan {
namespace {

using Kind = MemoryBound::Kind;

constexpr std::int64_t kScore = 4;  // bytes of a score, and of an index
// Radix selection reads a row for each digit, and its candidates again: 0.8 to 1.6 TB/s of scores on B200, an eighth of
// its memory's pace (sgl-project/sglang pull request 31115, NVIDIA/TensorRT-LLM pull request 15756, 2026).
constexpr std::int64_t kPassesOfChoice = 8;
// Scores are made and chosen from in pieces of at most so many bytes.
constexpr std::int64_t kMostScoreBytes = std::int64_t{1} << 30;

Linear index_queries(const Context& c) {
  const spec::Indexer& i = *c.model.indexer;
  return {"index queries", c.model.mla->q_lora_rank, std::int64_t{i.heads} * i.head_dim, false, c.tokens};
}
Linear index_keys(const Context& c) { return {"index keys", c.hidden, c.model.indexer->head_dim, false, c.tokens}; }
Linear index_weights(const Context& c) {
  Linear out{"index weights", c.hidden, c.model.indexer->heads, false, c.tokens};
  out.wide = true;
  return out;
}

/// What tensor-parallel ranks gather in front of the projections.
std::int64_t width_of_inputs(const Context& c) { return c.hidden + c.model.mla->q_lora_rank; }

/// Of all tokens.
std::int64_t bytes_of_choice(const Context& c) {
  return c.tokens * std::min<std::int64_t>(c.model.indexer->top_k, c.sequence) * kScore;
}

std::int64_t width_of_all_heads(const Context& c) {
  return (c.model.indexer->heads + std::int64_t{1}) * c.model.indexer->head_dim;
}

bool learns(const Context& c) { return c.job.training.indexer_loss != spec::IndexerLoss::none; }

}  // namespace

std::vector<Placed> indexer_linears(const Context& c) {
  return {{index_queries(c), Side::whole}, {index_keys(c), Side::whole}, {index_weights(c), Side::whole}};
}

int latent_key_width(const Context& c) { return c.model.mla->kv_lora_rank + c.model.mla->rope_head_dim; }

std::int64_t shared_choice(const Context& c) { return c.model.indexer->shares() ? bytes_of_choice(c) : 0; }

std::int64_t indexer_activations(const Context& c) {
  const spec::Indexer& i = *c.model.indexer;
  if (!learns(c)) return bytes_of_choice(c);
  const std::int64_t inputs = c.sp ? width_of_inputs(c) : 0;
  const std::int64_t width = width_of_all_heads(c) + i.head_dim + i.heads + inputs;  // the keys' norm among them
  return bytes_of_choice(c) + c.tokens * width * c.element;
}

SparseAttention::SparseAttention(const Context& c, SegmentBuilder& out, bool indexes)
    : c_(c), out_(out), indexer_(*c.model.indexer), indexes_(indexes) {}

/// Of the rank whose queries see most (ring_steps.h).
std::vector<SparseAttention::Stretch> SparseAttention::stretches() const {
  if (c_.cp == 1) return {{c_.sequence, c_.sequence}};
  if (c_.document > 0 && c_.document < c_.sequence) {
    const std::int64_t queries = c_.sequence / c_.cp;
    return {{queries, std::min(c_.sequence, queries + c_.document), true}};
  }
  std::vector<Stretch> out;
  for (const auto& part : stretches_of(c_.cp - 1, c_.cp, c_.sequence, c_.zigzag))
    out.push_back({part.length, part.begin + part.length});
  return out;
}

void SparseAttention::attend(bool backward) {
  for (const Stretch& part : stretches()) {
    out_.compute(Attention{.kernel = c_.attention,
                           .batch = c_.batch,
                           .q_len = part.queries,
                           .kv_len = part.keys,
                           .heads = c_.heads,
                           .kv_heads = 1,
                           .head_dim = latent_key_width(c_),
                           .causal = !part.of_documents,
                           .window = part.of_documents ? mean_keys(c_.document, {true, chosen()}) : chosen(),
                           .backward = backward,
                           .dtype = c_.storage,
                           .value_head_dim = c_.model.mla->kv_lora_rank,
                           .document = part.of_documents ? 0 : c_.document,
                           .values_in_keys = true},
                 backward ? "attention gradient" : "attention", backward ? 3 : 1);
  }
}

void SparseAttention::exchange(CollectiveKind kind, std::int64_t width, std::string_view name) {
  if (c_.cp == 1) return;
  const std::int16_t channel = out_.pool().channel({Channel::Kind::group, Axis::cp});
  out_.communicate(Collective{kind, c_.tokens * c_.cp * width * c_.element, c_.group(Axis::cp)}, name, Stream::cp,
                   channel, {Stream::compute});
  out_.join(Stream::cp);
}

IndexScores SparseAttention::scores_of(const Stretch& part, std::int64_t chosen, int heads, int head_dim,
                                       bool backward) const {
  IndexScores out{.batch = c_.batch,
                  .q_len = part.queries,
                  .kv_len = part.keys,
                  .heads = heads,
                  .head_dim = head_dim,
                  .chosen = chosen,
                  .backward = backward,
                  .dtype = c_.storage,
                  .document = c_.document};
  if (!part.of_documents) return out;
  out.kv_len = mean_keys(c_.document, {true, chosen});
  out.causal = false;
  out.chosen = out.document = 0;
  return out;
}

void SparseAttention::score(std::int64_t chosen, int heads, int head_dim, bool backward, std::string_view name) {
  for (const Stretch& part : stretches()) out_.compute(scores_of(part, chosen, heads, head_dim, backward), name);
}

/// Rotary embedding of queries and keys, joined with what is not turned, then both by a Hadamard matrix.
void SparseAttention::turn(bool backward) {
  const std::int64_t all = c_.tokens * width_of_all_heads(c_);
  const std::int64_t rotary = std::min(indexer_.head_dim, c_.model.mla->rope_head_dim);
  const Chain hadamard =
      chain(Kind::elementwise, all, static_cast<double>(c_.element), static_cast<double>(c_.element), 2);
  const char* const what = backward ? "index rotation gradient" : "index rotation";
  if (backward) out_.compute(hadamard.work, "index Hadamard gradient", hadamard.launches);
  if (c_.model.ropes()) {
    const Chain rope = rotation(c_, c_.tokens * (indexer_.heads + std::int64_t{1}) * rotary, backward);
    out_.compute(rope.work, what, rope.launches);
    out_.compute(copy_of(c_, all).work, backward ? "index join gradient" : "index join", 2);
  }
  if (!backward) out_.compute(hadamard.work, "index Hadamard", hadamard.launches);
}

std::int64_t SparseAttention::score_bytes() const {
  double pairs = 0;
  for (const Stretch& part : stretches()) pairs += pairs_of(scores_of(part, 0, 1, 1, false));
  return static_cast<std::int64_t>(pairs) * kScore;
}

void SparseAttention::choose() {
  TensorParallel linear(c_, out_);
  if (c_.sp) linear.collective(CollectiveKind::all_gather, c_.tokens * width_of_inputs(c_), "index input all-gather");
  linear.full_forward(index_queries(c_));
  linear.full_forward(index_keys(c_));
  const Chain norm = chain(Kind::norm, c_.tokens * indexer_.head_dim, 2.0, 2.0, 1);
  out_.compute(norm.work, "index key norm", norm.launches);
  linear.full_forward(index_weights(c_));
  turn(false);
  exchange(CollectiveKind::all_gather, indexer_.head_dim, "index keys all-gather");
  const std::int64_t bytes = score_bytes(), held = std::min(bytes, kMostScoreBytes);
  out_.take(Category::workspace, held);
  score(0, indexer_.heads, indexer_.head_dim, false, "index scores");
  out_.compute(MemoryBound{Kind::reduce, kPassesOfChoice * bytes, bytes_of_choice(c_), 1}, "index choice");
  out_.give(Category::workspace, held);
}

/// The inputs are detached (arXiv 2512.02556, section 2.1.1; dsa.py): the loss teaches the indexer alone.
void SparseAttention::learn() {
  if (!learns(c_)) return;
  TensorParallel linear(c_, out_);
  const std::int64_t top_k = chosen(), scores = bytes_of_choice(c_);
  exchange(CollectiveKind::all_gather, indexer_.head_dim, "index keys all-gather");
  out_.take(Category::workspace, 3 * scores);  // of attention, of the indexer, and the latter's gradients
  score(top_k, c_.heads, latent_key_width(c_), false, "indexer loss: attention scores");
  if (c_.tp > 1) {
    linear.collective(CollectiveKind::all_reduce, c_.tokens * top_k, "attention scores all-reduce",
                      static_cast<double>(kScore));
  }
  score(top_k, indexer_.heads, indexer_.head_dim, false, "indexer loss: index scores");
  out_.compute(MemoryBound{Kind::loss, 2 * scores, scores, 1}, "indexer loss");
  score(top_k, indexer_.heads, indexer_.head_dim, true, "index scores gradient");
  out_.give(Category::workspace, 3 * scores);
  exchange(CollectiveKind::reduce_scatter, indexer_.head_dim, "index key gradients reduce-scatter");
  turn(true);
  const Chain norm = chain(Kind::norm, c_.tokens * indexer_.head_dim, 4.0, 2.0, 1);
  linear.full_backward(index_weights(c_), Side::whole, true);
  out_.compute(norm.work, "index key norm gradient", norm.launches);
  linear.full_backward(index_keys(c_), Side::whole, true);
  linear.full_backward(index_queries(c_), Side::whole, true);
}

void SparseAttention::forward() {
  if (indexes_) choose();
  exchange(CollectiveKind::all_gather, latent_key_width(c_), "latent keys all-gather");
  attend(false);
}

void SparseAttention::backward() {
  exchange(CollectiveKind::all_gather, latent_key_width(c_), "latent keys all-gather");
  attend(true);
  exchange(CollectiveKind::reduce_scatter, latent_key_width(c_), "latent key gradients reduce-scatter");
  if (indexes_) learn();
}

}  // namespace plan
