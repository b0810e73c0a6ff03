// real/executor/actions/block.cpp -- what a block does between its matmuls: rotary embedding, activation, residual
// adds. SPDX-License-Identifier: Apache-2.0
#include "real/executor/actions/latent.h"
#include "real/executor/actions/linear.h"
#include "real/executor/activation.h"
#include "real/executor/dropout.h"
#include "real/executor/gradients.h"
#include "real/executor/heads.h"
#include "real/executor/positions.h"

namespace real {
namespace {

using kernels::Direction;

/// By operators some of what no backward reads is kept, and the rest made again beside it.
bool keeps_unread(const Task& task) { return by_operators(task); }

/// Turns the query and key heads of packed [tokens, queries keys values].
void rotate(Task& task, Direction direction, const std::string& from, const std::string& to) {
  const plan::Context& c = task.c;
  const Tensor packed = task.read(from);
  const Tensor turned = task.make(to, packed.count);
  const kernels::Rotary rotary{c.tokens, c.heads + c.kv_heads, c.head_dim, c.head_dim, c.qkv_width, 10000, false,
                               0,        c.model.rope_scale};
  task.backend.rotary(rotary, direction, positions_of_tokens(task), packed, turned);
}

/// Numbers of a row behind the activation.
std::int64_t inner_width(Task& task, const std::string& up) {
  return task.parameter(up + ".weight").part.row_count() / (task.c.model.gated_mlp ? 2 : 1);
}

void activate(Task& task, const std::string& from, const std::string& to) {
  const Tensor x = task.read(from);
  const Tensor y = task.make(to, task.c.model.gated_mlp ? x.count / 2 : x.count);
  activation_forward(task, inner_width(task, from), x, y);
}

void activate_backward(Task& task, const std::string& from, const std::string& to) {
  const Tensor x = task.read(from), dy = whole_gradient(task, to);
  activation_backward(task, inner_width(task, from), x, dy, task.make("d " + from, x.count));
}

/// Attention's branch comes first, on the way back the feed-forward's; by operators the first alone is made again. A
/// parallel block drops the sum of both.
DropoutSite next_branch(Task& task) {
  if (task.c.model.parallel_block) return DropoutSite::feed_forward_output;
  const bool first = task.next_piece(1, task.again() && keeps_unread(task) ? 1 : 2) == 0;
  const bool backward = task.op.phase == plan::Phase::backward;
  return first != backward ? DropoutSite::attention_output : DropoutSite::feed_forward_output;
}

/// The branches of a parallel block have been added in front of their reduction (linear.cpp): of the Plan's two adds
/// the second finds nothing left.
void residual_add(Task& task) {
  const bool parallel = task.c.model.parallel_block;
  if (parallel && !task.has("branch")) return;
  if (!task.c.model.post_norms) find_kept_output(task);
  const Tensor x = task.stream(), branch = task.read("branch");
  const Tensor sum = task.make_stream(x.count);
  if (task.c.dropout) {
    drop_hidden(task, next_branch(task), branch, sum);
    task.backend.add(x, sum);
  } else {
    task.backend.sum(x, branch, sum);
  }
  if (parallel) task.erase("branch");
  if (parallel || keeps_unread(task) || task.c.model.post_norms) return;
  for (const char* unread : {"branch", "attention output", "feed-forward down"}) task.erase(unread);
}

void residual_dropout_gradient(Task& task) {
  const Tensor dy = task.gradient_stream();
  drop_hidden(task, next_branch(task), dy, task.make("d branch", dy.count));
}

/// The next of the branches' gradients; two that come through one norm have met in front of it.
void residual_gradient(Task& task) {
  const std::vector<std::string> branches = task.rank.values.names(task.site, gradient_name("stream", ""));
  if (branches.empty() && task.c.model.parallel_block) return;
  const Tensor along = task.gradient_stream(), through = task.read(branches.at(0));
  const Tensor sum = task.make_gradient_stream(along.count);
  task.backend.sum(along, through, sum);
  task.erase(branches[0]);
}

}  // namespace

void add_block_actions(Actions& actions) {
  actions["rotary embedding"] = [](Task& t) {
    if (t.c.model.mla) return turn_latent(t);
    rotate(t, Direction::forward, unturned_name(t), "rotated");
    if (!keeps_unread(t)) t.erase(unturned_name(t));
  };
  actions["rotary embedding gradient"] = [](Task& t) {
    if (t.c.model.mla) return turn_latent_gradient(t);
    rotate(t, Direction::backward, "d rotated", std::string("d ") + unturned_name(t));
  };
  actions["activation"] = [](Task& t) { activate(t, "feed-forward up", "activation"); };
  actions["activation gradient"] = [](Task& t) { activate_backward(t, "feed-forward up", "activation"); };
  actions["shared expert activation"] = [](Task& t) { activate(t, "shared expert up", "shared expert activation"); };
  actions["shared expert activation gradient"] = [](Task& t) {
    activate_backward(t, "shared expert up", "shared expert activation");
  };
  actions["residual add"] = residual_add;
  actions["residual gradient"] = residual_gradient;
  actions["residual dropout gradient"] = residual_dropout_gradient;
}

}  // namespace real
