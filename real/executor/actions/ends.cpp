// real/executor/actions/ends.cpp -- embedding and loss, whole or cut by the vocabulary over tensor-parallel ranks.
//
// "embedding gradient" is also that of learned positions, which the same kernels make. "loss" leaves the sums that the
// reductions behind it complete; the loss itself is taken by the first operator that has them, "loss gradient".
// SPDX-License-Identifier: Apache-2.0
#include "real/executor/actions.h"
#include "real/executor/dropout.h"
#include "real/executor/gradients.h"
#include "real/executor/positions.h"

namespace real {
namespace {

kernels::Embedding table_shape(const Task& task) {
  const plan::Context& c = task.c;
  return {c.tokens, c.hidden, c.vocab, first_row(c, task.rank.place)};
}

void embedding(Task& task) {
  const Tensor table = task.weight("embedding.weight");
  const Tensor rows = task.make_stream(task.c.tokens * task.c.hidden);
  task.backend.embedding_forward(table_shape(task), ids_of_tokens(task), table, rows);
}

void reduce_embedding(Task& task, bool scatters) {
  const Tensor partial = task.stream();
  expect_bytes(task, partial.count, task.c.element);
  const Tensor sum = task.make_stream(scatters ? partial.count / task.c.tp : partial.count);
  if (scatters) {
    task.backend.reduce_scatter(task.group(), partial, sum);
  } else {
    task.backend.copy(partial, sum);
    task.backend.all_reduce(task.group(), Sum::add, sum);
  }
}

kernels::Embedding position_shape(Task& task, std::int64_t tokens) {
  return {tokens, task.c.hidden, task.parameter("position embedding.weight").part.row_count(), 0};
}

/// Of the tokens that norms see: under sequence parallel this rank's share.
Tensor positions_of_shard(Task& task) {
  const Tensor all = positions_of_tokens(task);
  const std::int64_t shard = task.c.shard_tokens;
  return task.c.sp ? all.part(task.rank.place.tp() * shard, shard) : all;
}

void position_embedding(Task& task) {
  const Tensor x = task.stream(), sum = task.make_stream(x.count), rows = task.backend.allocate(x.count);
  task.backend.embedding_forward(position_shape(task, task.c.shard_tokens), positions_of_shard(task),
                                 task.weight("position embedding.weight"), rows);
  task.backend.sum(x, rows, sum);
  if (task.c.dropout) drop_hidden(task, DropoutSite::embedding, sum, sum);
}

void embedding_dropout_gradient(Task& task) {
  const Tensor dy = task.gradient_stream();
  drop_hidden(task, DropoutSite::embedding, dy, task.make_gradient_stream(dy.count));
}

void gather_embedding_gradient(Task& task) {
  const Tensor piece = task.gradient_stream();
  const Tensor whole = task.make("d embedding", piece.count * task.c.tp);
  expect_bytes(task, whole.count, task.c.element);
  task.backend.all_gather(task.group(), piece, whole);
}

void embedding_gradient(Task& task) {
  if (!task.c.sp) task.keep_gradient_stream("d embedding");
  const Tensor dy = task.read("d embedding");
  task.backend.embedding_backward(table_shape(task), ids_of_tokens(task), dy, task.gradient("embedding.weight"));
  if (task.c.spread_vocab || task.find_parameter("position embedding.weight") == nullptr) return;
  task.backend.embedding_backward(position_shape(task, task.c.tokens), positions_of_tokens(task), dy,
                                  task.gradient("position embedding.weight"));
}

/// Where the table's gradient is made in a pass of its own: from the tokens of this rank alone.
void position_embedding_gradient(Task& task) {
  task.backend.embedding_backward(position_shape(task, task.c.shard_tokens), positions_of_shard(task),
                                  task.gradient_stream(), task.gradient("position embedding.weight"));
}

/// Of a token's loss in that of the step. Modules of multi-token prediction have equal shares of their weight
/// (DeepSeek-V3, arXiv 2412.19437, equation 25).
double weight_of_token(const Task& task) {
  const double one = 1 / task.rank.plan.tokens;
  return task.op.module == 0 ? one : one * task.rank.settings.multi_token_weight / task.c.model.mtp;
}

kernels::CrossEntropy loss_shape(const Task& task) {
  const plan::Context& c = task.c;
  return {c.tokens, c.vocab, first_row(c, task.rank.place), weight_of_token(task)};
}

void loss_maximum(Task& task) {
  const Tensor logits = task.read("output head");
  task.backend.cross_entropy_maximum(loss_shape(task), logits, task.make("loss maximum", task.c.tokens, kStatistic));
}

void loss(Task& task) {
  const Tensor logits = task.read("output head"), maximum = task.read("loss maximum");
  const Tensor total = task.make("loss sum", task.c.tokens, kStatistic);
  const Tensor target = task.make("loss target", task.c.tokens, kStatistic);
  task.backend.cross_entropy_sums(loss_shape(task), targets_of_tokens(task), logits, maximum, total, target);
}

void reduce(Task& task, const char* name, Sum sum) {
  const Tensor part = task.read(name);
  expect_bytes(task, part.count, 4);  // fp32
  const Tensor whole = task.make(name, part.count, kStatistic);
  task.backend.copy(part, whole);
  task.backend.all_reduce(task.group(), sum, whole);
}

void loss_gradient(Task& task) {
  const Tensor maximum = task.read("loss maximum");
  const Tensor total = task.read("loss sum"), target = task.read("loss target"), targets = targets_of_tokens(task);
  const Tensor losses = task.backend.allocate(task.c.tokens, kStatistic);
  const Tensor d = task.update("output head");                             // the logits become their gradient
  if (!task.c.spread_vocab || task.rank.place.stage() + 1 == task.c.pp) {  // of those that all have, once
    task.backend.cross_entropy_loss(targets, maximum, total, target, losses);
    task.backend.scale_add(weight_of_token(task), losses, 1, task.write(task.rank.loss, "loss"));
  }
  task.backend.cross_entropy_gradient(loss_shape(task), targets, maximum, total, d);
  task.alias("d output head", "output head");
  task.erase("output head");
}

}  // namespace

void add_end_actions(Actions& actions) {
  actions["embedding"] = embedding;
  actions["embedding all-reduce"] = [](Task& t) { reduce_embedding(t, false); };
  actions["embedding reduce-scatter"] = [](Task& t) { reduce_embedding(t, true); };
  actions["position embedding"] = position_embedding;
  actions["embedding dropout gradient"] = embedding_dropout_gradient;
  actions["embedding gradient all-gather"] = gather_embedding_gradient;
  actions["embedding gradient"] = embedding_gradient;
  actions["position embedding gradient"] = position_embedding_gradient;
  actions["loss maximum"] = loss_maximum;
  actions["loss maximum all-reduce"] = [](Task& t) { reduce(t, "loss maximum", Sum::maximum); };
  actions["loss"] = loss;
  actions["loss target all-reduce"] = [](Task& t) { reduce(t, "loss target", Sum::add); };
  actions["loss sum all-reduce"] = [](Task& t) { reduce(t, "loss sum", Sum::add); };
  actions["loss gradient"] = loss_gradient;
}

}  // namespace real
