// real/executor/actions/multi_token.cpp -- what a module of multi-token prediction does between its norms and its
// block: the hidden state and the embedding of the next token are joined, and projected back to the model's width. Its
// norms are in norm.cpp; block, embedding and head are those of the model. DeepSeek-V3, arXiv 2412.19437, section 2.2.
// SPDX-License-Identifier: Apache-2.0
#include "real/executor/actions/linear.h"
#include "real/executor/gradients.h"

namespace real {
namespace {

const Linear kProjection{"multi-token projection", "multi-token join", Side::column};

/// [rows, hidden of 2 hidden]: the hidden state's half, then the embedding's.
struct Half {
  const char* name;
  std::int64_t begin;
};
std::vector<Half> halves(const Task& task) {
  return {{"multi-token hidden norm", 0}, {"multi-token embedding norm", task.c.hidden}};
}

void join(Task& task) {
  const std::int64_t width = task.c.hidden, rows = task.c.shard_tokens;
  const Tensor pair = task.make(kProjection.source, rows * 2 * width);
  for (const Half& half : halves(task)) {
    task.backend.strided_copy(kernels::row_pieces(rows, width, width, 2 * width), task.read(half.name),
                              pair.part(half.begin, pair.count - half.begin));
  }
}

void join_gradient(Task& task) {
  const std::int64_t width = task.c.hidden, rows = task.c.shard_tokens;
  const Tensor d = whole_gradient(task, kProjection.source);
  for (const Half& half : halves(task)) {
    task.backend.strided_copy(kernels::row_pieces(rows, width, 2 * width, width),
                              d.part(half.begin, d.count - half.begin),
                              task.make(std::string("d ") + half.name, rows * width));
  }
}

/// Of all tensor-parallel ranks' columns; under sequence parallelism each keeps its own tokens.
void gather_output(Task& task) {
  const std::int64_t width = task.c.hidden, share = width / task.c.tp, rows = task.c.tokens;
  const Tensor piece = task.read(kProjection.name);
  const Tensor pieces = task.backend.allocate(piece.count * task.c.tp);
  expect_bytes(task, pieces.count, task.c.element);
  task.backend.all_gather(task.group(), piece, pieces);
  const std::int64_t kept = task.c.shard_tokens, first = task.c.sp ? task.rank.place.tp() * kept : 0;
  const Tensor out = task.make_stream(kept * width);
  for (int rank = 0; rank < task.c.tp; ++rank) {
    const Tensor of_rank = pieces.part((rank * rows + first) * share, kept * share);
    task.backend.strided_copy(kernels::row_pieces(kept, share, share, width), of_rank,
                              out.part(rank * share, out.count - rank * share));
  }
}

void cut_columns(Task& task, const Tensor& whole) {
  const std::int64_t width = task.c.hidden, share = width / task.c.tp, rows = task.c.tokens;
  const std::int64_t begin = task.rank.place.tp() * share;
  task.backend.strided_copy(kernels::row_pieces(rows, share, width, share), whole.part(begin, whole.count - begin),
                            task.make(kProjection.output_gradient(), rows * share));
}

void gather_output_gradient(Task& task) {
  const Tensor piece = task.gradient_stream(), whole = task.backend.allocate(piece.count * task.c.tp);
  expect_bytes(task, whole.count, task.c.element);
  task.backend.all_gather(task.group(), piece, whole);
  cut_columns(task, whole);
}

}  // namespace

void add_multi_token_actions(Actions& actions) {
  add_linear_forward(actions, kProjection);
  add_linear_backward(actions, kProjection);
  actions["multi-token join"] = join;
  actions["multi-token join gradient"] = join_gradient;
  // What no operator of the Plan brings or takes on is there as it is.
  const Action project = actions[kProjection.name];
  actions[kProjection.name] = [project](Task& t) {
    project(t);
    if (t.c.tp == 1) t.flow(kProjection.name);
  };
  const std::string input_gradient = kProjection.name + " input gradient";
  const Action multiply = actions[input_gradient];
  actions[input_gradient] = [multiply](Task& t) {
    if (!t.has(kProjection.output_gradient())) cut_columns(t, t.gradient_stream());
    multiply(t);
  };
  actions["multi-token projection output all-gather"] = gather_output;
  actions["multi-token projection output gradient all-gather"] = gather_output_gradient;
}

}  // namespace real
