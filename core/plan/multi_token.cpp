// SPDX-License-Identifier: Apache-2.0
#include "core/plan/multi_token.h"

#include "core/plan/block.h"
#include "core/plan/elementwise.h"
#include "core/plan/ends.h"
#include "core/spec/parameters.h"

namespace plan {
namespace {

/// The embedding and the joined pair; the hidden state is kept by whoever made it.
std::int64_t kept(const Context& c) { return 3 * c.shard_tokens * c.hidden * c.element; }

/// A module attends as the model's last layer does.
bool windowed(const Context& c) { return c.model.limited_in(c.model.layers - 1); }
void enter_block(SegmentBuilder& out, int layer) { out.layer = static_cast<std::int16_t>(layer); }

void enter_module(SegmentBuilder& out, int number) { out.module = static_cast<std::int8_t>(number + 1); }

/// What comes next is the model's own, here and among the weight gradients.
void leave_modules(SegmentBuilder& out) {
  out.module = 0;
  out.weights();
}

}  // namespace

Linear multi_token_projection(const Context& c) { return {"multi-token projection", 2 * c.hidden, c.hidden / c.tp}; }

bool copies_embedding(const Context& c) {
  if (c.spread_vocab) return false;  // a stage has the same rows of both
  return !c.placement.ends_meet() && (c.model.tied_embeddings || c.model.mtp > 0);
}

Held multi_token_parameters(const Context& c) {
  Held sum;
  const std::int64_t one =
      multi_token_projection(c).in * multi_token_projection(c).out + 3 * spec::norm_parameters(c.model);
  for (int k = 0; k < c.model.module_copies(); ++k) {
    for (int i = 0; i < c.model.module_layers(); ++i) {
      const int layer = c.model.module_layer(i);
      sum += layer_parameters(c, layer);
      if (c.model.module_parts(i).indexes && !c.model.parts_in(layer).indexes)
        sum += end_held(c, spec::indexer_parameters(c.model));
    }
    sum += end_held(c, one);
  }
  if (c.model.mtp == 0 || !copies_embedding(c)) return sum;
  const spec::Parameters whole = spec::end_parameters(c.model);
  // A tied head has the table already.
  sum += c.model.tied_embeddings ? end_held(c, whole.positions + whole.embedding_norm) : embedding_held(c);
  return sum;
}

void multi_token_forward(const Context& c, SegmentBuilder& out, int index_in_stage) {
  TensorParallel linear(c, out);
  for (int k = 0; k < c.model.mtp; ++k) {
    enter_module(out, k);
    embedding_forward(c, out);
    out.take(Category::activations, kept(c));
    norm_kernel(c, out, "multi-token embedding norm", false);
    norm_kernel(c, out, "multi-token hidden norm", false);
    const Chain join = copy_of(c, 2 * c.shard_tokens * c.hidden);
    out.compute(join.work, "multi-token join", join.launches);
    linear.column_forward(multi_token_projection(c));
    linear.collective(CollectiveKind::all_gather, c.tokens * c.hidden, "multi-token projection output all-gather");
    for (int i = 0; i < c.model.module_layers(); ++i) {
      const int layer = c.model.module_layer(i);
      enter_block(out, layer);
      Block(c, out).forward(recompute_of(c, index_in_stage + k * c.model.module_layers() + i), windowed(c));
    }
    head_forward(c, out);
  }
  leave_modules(out);
}

void multi_token_backward(const Context& c, SegmentBuilder& out, int index_in_stage) {
  TensorParallel linear(c, out);
  for (int k = c.model.mtp - 1; k >= 0; --k) {
    enter_module(out, k);
    head_backward(c, out);
    for (int i = c.model.module_layers() - 1; i >= 0; --i) {
      const int layer = c.model.module_layer(i);
      enter_block(out, layer);
      Block(c, out).backward(recompute_of(c, index_in_stage + k * c.model.module_layers() + i), windowed(c));
    }
    out.layer = -1;
    // Behind the gather along the width each rank keeps its tokens; its gradient makes the same way back.
    if (c.sp)
      linear.collective(CollectiveKind::all_gather, c.tokens * c.hidden,
                        "multi-token projection output gradient all-gather");
    linear.column_backward(multi_token_projection(c));
    const Chain split = copy_of(c, 2 * c.shard_tokens * c.hidden);
    out.compute(split.work, "multi-token join gradient", split.launches);
    norm_kernel(c, out, "multi-token hidden norm gradient", true);
    norm_kernel(c, out, "multi-token embedding norm gradient", true);
    const Chain sum = residual_backward(c);  // with the gradient of the model's own head, or of the module before
    out.compute(sum.work, "multi-token hidden gradient", sum.launches);
    out.give(Category::activations, kept(c));
    embedding_backward(c, out);
  }
  leave_modules(out);
}

}  // namespace plan
