// SPDX-License-Identifier: Apache-2.0
#include "core/plan/ends.h"

#include <algorithm>
#include <bit>
#include <cstdint>

#include "core/plan/autocast.h"
#include "core/plan/elementwise.h"
#include "core/plan/shares.h"
#include "core/plan/states.h"
#include "core/plan/tensor_parallel.h"

namespace plan {
namespace {

/// Numbers of 16 bytes.
int aligned(const Context& c) { return static_cast<int>(16 / c.element); }

/// A compiler pads matmuls whose rows do not begin at 16 bytes (torch/_inductor/fx_passes/pad_mm.py, 2.2 to 2.9).
bool pads_vocabulary(const Context& c) {
  return c.strategy.compile && c.job.framework.compiles_head && c.vocab % aligned(c) != 0;
}

Linear head_linear(const Context& c) {
  const std::int64_t rows = pads_vocabulary(c) ? padded(c.vocab, aligned(c)) : c.vocab;
  return {"output head", c.hidden, rows, c.model.head_bias};
}

/// The table with rows of zeros below it, made anew in each pass and there while it is read; of the logits' gradient
/// the loss' own kernel makes it.
class PaddedTable {
 public:
  PaddedTable(const Context& c, SegmentBuilder& out)
      : out_(out), bytes_(pads_vocabulary(c) ? c.vocab * c.hidden * c.element : 0) {
    if (bytes_ == 0) return;
    out_.take(Category::workspace, bytes_);
    out_.compute(MemoryBound{MemoryBound::Kind::copy, bytes_, bytes_, 1}, "output head padded");
  }
  ~PaddedTable() { out_.give(Category::workspace, bytes_); }
  PaddedTable(const PaddedTable&) = delete;
  PaddedTable& operator=(const PaddedTable&) = delete;

 private:
  SegmentBuilder& out_;
  std::int64_t bytes_;
};

/// Tokens whose logits are there at once where the loss goes by chunks: logits of about as many numbers as the states
/// have (Liger Kernel, ops/fused_linear_cross_entropy.py, 2024 to 2026).
std::int64_t loss_chunk(const Context& c) {
  const std::int64_t wider = (c.vocab + c.hidden - 1) / c.hidden;
  const auto tokens = static_cast<std::uint64_t>((c.tokens + wider - 1) / wider);
  return std::min<std::int64_t>(c.tokens, static_cast<std::int64_t>(std::bit_ceil(tokens)));
}

/// The gradients of the states and of the table, which a loss by chunks makes in the forward.
std::int64_t early_state_gradient(const Context& c) { return c.tokens * c.hidden * c.element; }
std::int64_t early_table_gradient(const Context& c) { return c.strategy.lora ? 0 : c.vocab * c.hidden * c.element; }

/// Each chunk's product, loss and gradients follow one another, and each reads the whole table, or reads and writes its
/// gradient; written as one batch of each.
void loss_by_chunks(const Context& c, SegmentBuilder& out) {
  const std::int64_t chunk = loss_chunk(c), chunks = (c.tokens + chunk - 1) / chunk;
  const Linear head = head_linear(c);
  const auto launches = static_cast<int>(chunks);
  out.take(Category::activations, early_state_gradient(c));
  out.take(Category::gradients, early_table_gradient(c));
  out.take(Category::logits, chunk * c.vocab * c.element);
  const auto product = [&](std::int64_t m, std::int64_t n, std::int64_t k, const char* name, Matmul::Pass pass) {
    Matmul work{m, n, k, chunks, c.operand, c.storage};
    work.pass = pass;
    work.accumulates = pass == Matmul::Pass::weight_gradient;
    out.compute(work, name, launches);
  };
  product(chunk, head.out, c.hidden, "output head", Matmul::Pass::forward);
  const Chain loss = loss_forward(c);
  out.compute(loss.work, "loss", loss.launches * launches);
  out.phase = Phase::backward;
  const Chain gradient = loss_backward(c);
  out.compute(gradient.work, "loss gradient", gradient.launches * launches);
  product(chunk, c.hidden, head.out, "output head input gradient", Matmul::Pass::input_gradient);
  if (!c.strategy.lora) {
    product(c.hidden, head.out, chunk, "output head weight gradient", Matmul::Pass::weight_gradient);
  }
  out.give(Category::logits, chunk * c.vocab * c.element);
}

/// What the forward made goes on from here: the table's gradient to the main one, unless that takes its place.
void early_gradients(const Context& c, SegmentBuilder& out) {
  if (!c.strategy.lora && (c.fused_accumulation || adds_gradients(c))) {
    const Chain add = accumulate_gradient(c, c.vocab * c.hidden);
    out.compute(add.work, "output head gradient accumulation", add.launches);
  }
  out.give(Category::gradients, early_table_gradient(c));
}

/// Bytes of a logit that an unfused loss holds besides its log-softmax: forward the fp32 logits, backward the gradient
/// of the log-softmax and what it makes of it; one more where the vocabulary is cut (PyTorch's loss_parallel).
std::int64_t loss_temporaries(const Context& c) {
  if (c.fused_loss || !c.job.framework.separate_loss) return 0;
  return c.tokens * c.vocab * 4 * (c.tp > 1 ? 3 : 2);
}

/// Bytes beside the fp32 logits and those they were cast from while the loss is computed.
std::int64_t forward_temporaries(const Context& c) {
  if (c.fused_loss) return 0;
  const std::int64_t logits = c.tokens * c.vocab * 4;
  return std::max<std::int64_t>(loss_temporaries(c) - logits, c.job.framework.shifted_logits ? logits : 0);
}

/// A compiled loss writes the logits' gradient beside them; a framework's own kernel writes it into them.
std::int64_t separate_gradient(const Context& c) {
  const spec::Framework& f = c.job.framework;
  const bool own_kernel = f.fused.cross_entropy.value_or(false) || f.recipes_of_fp8_gpus;
  return c.fused_loss && c.strategy.compile && !own_kernel ? c.tokens * c.vocab * c.element : 0;
}

/// The three small reductions of a vocabulary-parallel loss carry one fp32 number a token.
void reduce_tokens(const Context& c, SegmentBuilder& out, const char* name) {
  if (c.tp == 1) return;
  const std::int16_t channel = out.pool().channel({Channel::Kind::group, Axis::tp});
  out.communicate(Collective{CollectiveKind::all_reduce, c.tokens * 4, c.tp_group}, name, Stream::tp, channel,
                  {Stream::compute});
  out.join(Stream::tp);
}

/// What an embedding keeps for its backward: its dropout's mask and its norm's input. GPT-2's recipe has the dropout
/// behind learned positions; with ALiBi it is there as well.
std::int64_t kept_embedding(const Context& c) {
  if (c.serves) return 0;
  const spec::Position position = c.model.position;
  const bool masked = c.dropout && (position == spec::Position::learned || position == spec::Position::alibi);
  const std::int64_t elements = c.shard_tokens * c.hidden;
  return elements * (masked ? 1 : 0) + elements * (c.model.embedding_norm ? c.stream : 0);
}

}  // namespace

void norm_kernel(const Context& c, SegmentBuilder& out, const char* name, bool backward) {
  const Chain chain = backward ? stream_norm_backward(c, c.shard_tokens) : stream_norm_forward(c, c.shard_tokens);
  out.compute(chain.work, name, chain.launches);
}

std::int64_t kept_logits(const Context& c) { return c.tokens * c.vocab * (c.fused_loss ? c.element : 4); }

void rows_forward(const Context& c, SegmentBuilder& out) {
  out.phase = Phase::forward;
  out.layer = -1;
  const std::int64_t row_bytes = c.tokens * c.hidden * c.stream;
  out.compute(MemoryBound{MemoryBound::Kind::embedding, row_bytes, row_bytes, 1}, "embedding");
  TensorParallel linear(c, out);
  linear.collective(c.sp ? CollectiveKind::reduce_scatter : CollectiveKind::all_reduce, c.tokens * c.hidden,
                    c.sp ? "embedding reduce-scatter" : "embedding all-reduce");
}

void embedding_forward(const Context& c, SegmentBuilder& out) {
  if (!c.spread_vocab) rows_forward(c, out);
  out.phase = Phase::forward;
  out.layer = -1;
  if (c.model.has_position_table()) {
    const Chain add = residual_forward(c);
    out.compute(add.work, "position embedding", add.launches);
  }
  out.take(Category::activations, kept_embedding(c));
  if (c.model.embedding_norm) norm_kernel(c, out, "embedding norm", false);
}

void embedding_backward(const Context& c, SegmentBuilder& out) {
  out.phase = Phase::backward;
  out.layer = -1;
  const std::int64_t elements = c.shard_tokens * c.hidden;
  if (c.model.embedding_norm) norm_kernel(c, out, "embedding norm gradient", true);
  if (c.model.has_position_table() && c.dropout) {
    const Chain dropout = dropout_backward(c, elements);
    out.compute(dropout.work, "embedding dropout gradient", dropout.launches);
  }
  if (c.model.has_position_table() && c.spread_vocab) {  // else beside the table's
    const std::int64_t rows = elements * c.element, table = c.sequence * c.hidden * c.gradient_element;
    out.compute(MemoryBound{MemoryBound::Kind::embedding, rows + table, table, 1}, "position embedding gradient");
  }
  out.give(Category::activations, kept_embedding(c));
  if (c.strategy.lora || c.spread_vocab) return;  // frozen; of all stages
  rows_backward(c, out);
}

void rows_backward(const Context& c, SegmentBuilder& out) {
  const std::int64_t elements = c.shard_tokens * c.hidden;
  SegmentBuilder& weights = out.weights();
  TensorParallel linear(c, weights);
  if (c.sp) linear.collective(CollectiveKind::all_gather, c.tokens * c.hidden, "embedding gradient all-gather");
  const std::int64_t rows = c.tokens * c.hidden, table = c.vocab * c.hidden;
  if (c.job.framework.adds_embedding_rows) {
    const std::int64_t sums = rows * c.gradient_element;
    weights.compute(MemoryBound{MemoryBound::Kind::embedding, rows * c.stream + sums, sums, 1}, "embedding gradient");
  } else {  // dense: zeroed, scattered into, then added to what is there
    const double share = added_share(c);
    const auto added = static_cast<std::int64_t>(share * static_cast<double>(table));
    const std::int64_t read = rows * c.stream + added * (c.stream + c.gradient_element);
    const std::int64_t apart = share > 0 ? table * c.stream : 0;  // otherwise it is the gradient itself
    const int kernels = share > 0 ? 3 : 2;
    weights.take(Category::workspace, apart);
    weights.compute(
        MemoryBound{MemoryBound::Kind::embedding, read, table * c.stream + added * c.gradient_element, kernels},
        "embedding gradient", kernels);
    weights.give(Category::workspace, apart);
  }
  if (&weights == &out) return;
  out.retain(elements * c.element);
  out.give_unretained(Category::activations, 0);
}

void head_forward(const Context& c, SegmentBuilder& out) {
  out.phase = Phase::forward;
  out.layer = -1;
  out.take(Category::activations, c.shard_tokens * c.hidden * (c.stream + c.element));  // inputs of norm and matmul
  norm_kernel(c, out, "final norm", false);
  if (!c.spread_vocab) logits_forward(c, out);
  if (c.chunked_loss) out.give(Category::activations, c.shard_tokens * c.hidden * c.element);  // what the head read
}

void logits_forward(const Context& c, SegmentBuilder& out) {
  const PaddedTable padded(c, out);
  if (c.chunked_loss) return loss_by_chunks(c, out);
  TensorParallel linear(c, out);
  const std::int64_t logits = c.tokens * c.vocab;
  out.take(Category::logits, logits * c.element);
  linear.column_forward(head_linear(c));
  const std::int64_t kept = kept_logits(c);
  const std::int64_t temporaries = forward_temporaries(c);
  if (!c.fused_loss) out.take(Category::logits, kept + temporaries);
  const Chain maximum = loss_maximum(c);
  out.compute(maximum.work, "loss maximum", maximum.launches);
  reduce_tokens(c, out, "loss maximum all-reduce");
  const Chain loss = loss_forward(c);
  out.compute(loss.work, "loss", loss.launches);
  if (!c.fused_loss) out.give(Category::logits, logits * c.element + temporaries);
  reduce_tokens(c, out, "loss target all-reduce");
  reduce_tokens(c, out, "loss sum all-reduce");
}

void head_backward(const Context& c, SegmentBuilder& out) {
  out.phase = Phase::backward;
  out.layer = -1;
  if (!c.spread_vocab && !c.chunked_loss) logits_backward(c, out);
  norm_kernel(c, out, "final norm gradient", true);
  if (c.chunked_loss) {
    early_gradients(c, out);
    return out.give_unretained(Category::activations, c.shard_tokens * c.hidden * c.stream + early_state_gradient(c));
  }
  out.give_unretained(Category::activations, c.shard_tokens * c.hidden * (c.stream + c.element));
}

void loss_gradient(const Context& c, SegmentBuilder& out) {
  const Chain loss = loss_backward(c);
  out.compute(loss.work, "loss gradient", loss.launches);
}

void logits_backward(const Context& c, SegmentBuilder& out) {
  const std::int64_t logits = c.tokens * c.vocab;
  const std::int64_t temporaries = loss_temporaries(c);
  const std::int64_t result = c.fused_loss ? separate_gradient(c) : logits * c.element;
  out.take(Category::logits, temporaries > 0 ? temporaries : result);
  if (c.tp > 1) out.join(Stream::tp);  // the sums that head_forward() sent off last
  loss_gradient(c, out);
  if (temporaries > 0) out.give(Category::logits, temporaries);
  if (!c.fused_loss || result > 0) out.give(Category::logits, kept_logits(c));
  if (temporaries > 0) out.take(Category::logits, result);  // cast to storage when they are gone
  head_product_backward(c, out);
  out.give(Category::logits, logits * c.element);
}

void head_product_backward(const Context& c, SegmentBuilder& out) {
  const PaddedTable padded(c, out);
  // Transformer Engine's placeholder, or the gradient itself until it has been added.
  const bool passing = has_placeholders(c) || (c.separate_gradients && frees_gradients(c));
  const std::int64_t beside = passing ? c.vocab * c.hidden * c.element : 0;
  out.take(Category::gradients, beside);
  TensorParallel(c, out).column_backward(head_linear(c));
  out.give(Category::gradients, beside);
}

}  // namespace plan
