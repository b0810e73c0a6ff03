// SPDX-License-Identifier: Apache-2.0
#include "real/executor/actions/linear.h"

#include "core/plan/adapters.h"
#include "core/plan/selective_ops.h"
#include "real/executor/actions/narrow.h"
#include "real/executor/actions/row_blocks.h"
#include "real/executor/gradients.h"

namespace real {
namespace {

using kernels::Matmul;

bool of_parallel_block(const Task& task, const Linear& l, std::string_view name) {
  return task.c.model.parallel_block && l.name == name;
}

/// The second of two layers that share a gathered input.
bool finds_gathered(const Task& task, const Linear& l) { return shares_input(task, l) && l.name == "feed-forward up"; }

/// The branches of a parallel block are added in front of one reduction, that of the feed-forward.
bool reduces(const Task& task, const Linear& l) {
  const bool kept = task.again() && by_operators(task) && task.c.sp;
  return l.side == Side::row && !of_parallel_block(task, l, "attention output") && !kept;
}

/// Where recomputation by operators makes a part of an output again, the keys of q, k and v or one half of a gated
/// feed-forward, and keeps the rest: where that part, `width` wide, begins; -1: the whole output is made.
std::int64_t part_made_again(const Task& task, const Linear& l, std::int64_t width) {
  if (!task.again() || !by_operators(task)) return -1;
  if (l.name == "keys") return task.c.q_width;
  if (l.name != l.layer()) return 0;  // a gate
  const bool half = l.name == "feed-forward up" || l.name == "shared expert up";
  return half && task.c.model.gated_mlp ? width : -1;
}

/// Columns of the block's rows of y [tokens, piece.of].
void multiply(Task& task, const Linear& l, const Piece& piece, const RowBlock& block, const Tensor& y) {
  const Tensor w = task.weight(l.weight(task)), bias = task.weight(l.bias());
  const Tensor result = piece.whole() ? y : task.backend.allocate(block.rows * piece.width);
  if (is_narrow(task)) {
    narrow_forward(task, l, piece, block, result);
  } else {
    task.backend.matmul(Matmul{block.rows, piece.width, piece.in, false, true}, block.x, piece.of_weight(w), result);
  }
  if (bias && (l.side != Side::row || task.rank.place.tp() == 0)) {
    task.backend.add_rows(block.rows, bias.part(piece.begin, piece.width), result);
  }
  if (of_parallel_block(task, l, "feed-forward down")) {
    const Tensor branch = task.read("attention output");
    task.backend.add(branch.part(block.begin * piece.of, block.rows * piece.of), result);
  }
  if (piece.whole()) return;
  task.backend.strided_copy(kernels::row_pieces(block.rows, piece.width, piece.width, piece.of), result,
                            y.part(piece.begin, y.count - piece.begin));
}

/// A row-parallel layer's next block of tokens, which is reduced by itself.
void forward_block(Task& task, const Linear& l, const Piece& piece) {
  const std::int64_t number = task.next_block(task.c.tp);
  const RowBlock block =
      is_narrow(task) ? narrow_row_block(task, l, number, piece.in) : row_block(task, number, l.source, piece.in);
  expect(task, "rows", task.work<plan::Matmul>().m, block.rows);
  multiply(task, l, piece, block, task.make(l.name + " block " + std::to_string(number), block.rows * piece.of));
  if (is_narrow(task) && number + 1 == task.c.tp) leave_casts(task, l);
}

/// The rows that the operator covers: all, or the next blocks of a gathered input. `last`: none are left.
std::vector<RowBlock> rows_of(Task& task, const Linear& l, const Piece& piece, bool& first, bool& last) {
  first = piece.first;
  last = piece.last;
  const bool narrow = is_narrow(task);
  if (!gathers(task, l) || finds_gathered(task, l) || !gathers_by_blocks(task)) {
    const Tensor x = task.read(narrow ? input_codes_name(l) : input_name(task, l));
    return {{x, 0, x.count / piece.in}};
  }
  const std::int64_t count = column_block_count(task);
  const std::int64_t number = piece.last ? task.next_block(count) : task.this_block();
  first &= number == 0;
  last &= number + 1 == count;
  if (narrow) return narrow_column_blocks(task, l, number, piece.in);
  return column_blocks(task, number, l.input(task), l.gathered(task), piece.in);
}

Tensor output(Task& task, const Linear& l, const Piece& piece, std::int64_t rows) {
  const std::int64_t count = rows * piece.of;
  if (task.again() && by_operators(task) && l.side == Side::row && !reduces(task, l)) {
    return task.backend.allocate(count);  // its reduced form was kept
  }
  const bool kept = part_made_again(task, l, piece.width) >= 0;
  const Tensor before = kept ? task.read(l.layer()) : Tensor{};
  const Tensor y = task.make(l.layer(), count, l.name == "output head" ? kLogits : kActivation);
  if (kept) task.backend.copy(before, y);
  return y;
}

/// A gathered input stays where the framework keeps it, or another layer or an adapter reads it.
void leave_input(Task& task, const Linear& l) {
  const bool found = finds_gathered(task, l), by_shards = reduces_by_blocks(task) && !found;
  const bool keeps = keeps_input(task, l) || plan::adapted(task.c, {l.name});
  if (keeps && by_shards) join_shards(task, l.input(task), l.gathered(task));
  if (!keeps && !by_shards) task.erase(l.gathered(task));
}

void forward(Task& task, const Linear& l) {
  const auto& work = task.work<plan::Matmul>();
  const Piece piece = next_piece(task, l, work.n);
  expect(task, "inputs", work.k, piece.in);
  if (reduces(task, l) && reduces_by_blocks(task)) return forward_block(task, l, piece);
  bool first = false, last = false;
  const std::vector<RowBlock> blocks = rows_of(task, l, piece, first, last);
  std::int64_t rows = 0;
  for (const RowBlock& block : blocks) rows += block.rows;
  expect(task, "rows", work.m, rows);
  const std::int64_t all = l.side == Side::whole ? rows : task.c.tokens;
  const Tensor y = first ? output(task, l, piece, all) : task.read(l.layer());
  for (const RowBlock& block : blocks) {
    multiply(task, l, piece, block, y.part(block.begin * piece.of, block.rows * piece.of));
  }
  if (!last) return;
  if (ends_branch(task, l)) task.alias("branch", l.layer());
  if (is_narrow(task)) return leave_casts(task, l);
  if (gathers(task, l)) leave_input(task, l);
}

void reduce_output(Task& task, const Linear& l, bool scatters) {
  bool done = true;
  if (reduces_by_blocks(task)) {
    done = reduce_next_block(task, l.name);
  } else {
    reduced(task, task.read(l.name), l.name, scatters);
  }
  if (done && ends_branch(task, l)) task.alias("branch", l.name);
}

void gather_input(Task& task, const Linear& l) {
  const bool narrow = is_narrow_layer(task);
  if (reduces_by_blocks(task)) {
    return gather_next_shard(task,
                             narrow ? rings_of_codes(task, l) : std::vector{Ring{l.input(task), l.gathered(task)}});
  }
  if (narrow) return gather_input_codes(task, l);
  all_gather(task, l.input(task), l.gathered(task));
}

}  // namespace

bool by_operators(const Task& task) { return task.c.strategy.recompute.kind == spec::Recompute::Kind::selective_ops; }

std::string Linear::layer() const {
  if (name == "keys") return "qkv";
  if (name == "feed-forward gate") return "feed-forward up";
  return name == "shared expert gate" ? "shared expert up" : name;
}

std::string Linear::weight(Task& task) const {
  const std::string own = layer() + ".weight";
  return name == "output head" && task.find_parameter(own) == nullptr ? "embedding.weight" : own;
}

std::string Linear::input(const Task& task) const { return shares_input(task, *this) ? "attention norm" : source; }

std::string Linear::gathered(const Task& task) const { return (shares_input(task, *this) ? "block" : name) + " input"; }

Piece next_piece(Task& task, const Linear& l, std::int64_t width) {
  const Part& part = task.parameter(l.weight(task)).part;
  const std::int64_t out = part.row_count(), in = part.columns.length;
  if (const std::int64_t again = part_made_again(task, l, width); again >= 0)
    return {again, width, out, in, true, true};
  const std::int64_t begin = task.next_piece(width, out);
  return {begin, width, out, in, begin == 0, begin + width == out};
}

bool shares_input(const Task& task, const Linear& l) {
  if (!task.c.model.parallel_block || task.c.model.norms_in_parallel > 1) return false;
  return l.layer() == "qkv" || l.name == "feed-forward up";
}

bool keeps_input(const Task& task, const Linear& l) {
  return task.rank.job.framework.keeps_gathered || (shares_input(task, l) && !finds_gathered(task, l));
}

bool gathers(const Task& task, const Linear& l) { return l.side == Side::column && task.c.sp; }

std::string input_name(const Task& task, const Linear& l) {
  return gathers(task, l) ? l.gathered(task) : l.input(task);
}

void all_gather(Task& task, const std::string& from, const std::string& to) {
  const Tensor piece = task.read(from);
  const Tensor whole = task.make(to, piece.count * task.c.tp);
  expect_bytes(task, whole.count, task.c.element);
  task.backend.all_gather(task.group(), piece, whole);
}

/// A shared expert's result is added to that of the others first.
bool ends_branch(const Task& task, const Linear& l) {
  return l.side == Side::row && l.name != "shared expert down" && !of_parallel_block(task, l, "attention output");
}

void find_kept_output(Task& task) {
  if (!task.again() || !by_operators(task)) return;
  if (plan::KeptMatmuls(task.c, task.c.experts_in(task.op.layer))("attention output")) {
    task.alias("branch", "attention output");
  }
}

Tensor reduced(Task& task, const Tensor& partial, std::string_view name, bool scatters) {
  expect_bytes(task, partial.count, task.c.element);
  const Tensor sum = task.make(name, scatters ? partial.count / task.c.tp : partial.count);
  if (scatters) {
    task.backend.reduce_scatter(task.group(), partial, sum);
  } else {
    task.backend.copy(partial, sum);
    task.backend.all_reduce(task.group(), Sum::add, sum);
  }
  return sum;
}

void add_linear_forward(Actions& actions, const Linear& l) {
  actions[l.name] = [l](Task& t) { forward(t, l); };
  actions[l.name + " all-gather"] = [l](Task& t) { gather_input(t, l); };
  actions[l.name + " all-reduce"] = [l](Task& t) { reduce_output(t, l, false); };
  actions[l.name + " reduce-scatter"] = [l](Task& t) { reduce_output(t, l, true); };
}

const std::vector<Linear>& linears() {
  static const std::vector<Linear> all{{"qkv", "attention norm", Side::column},
                                       {"query", "attention norm", Side::column},
                                       {"query down", "attention norm", Side::whole},
                                       {"query up", "query norm", Side::column},
                                       {"key and value down", "attention norm", Side::whole},
                                       {"key and value up", "key and value norm", Side::column},
                                       {"attention output", "attention", Side::row},
                                       {"feed-forward up", "feed-forward norm", Side::column},
                                       {"feed-forward down", "activation", Side::row},
                                       {"shared expert up", "feed-forward norm", Side::column},
                                       {"shared expert down", "shared expert activation", Side::row},
                                       {"router", "feed-forward norm", Side::whole},
                                       {"output head", "final norm", Side::column}};
  return all;
}

void add_linear_actions(Actions& actions) {
  for (const Linear& l : linears()) {
    add_linear_forward(actions, l);
    add_linear_backward(actions, l);
  }
  add_linear_forward(actions, {"keys", "attention norm", Side::column});
  add_linear_forward(actions, {"feed-forward gate", "feed-forward norm", Side::column});
  add_linear_forward(actions, {"shared expert gate", "feed-forward norm", Side::column});
}

}  // namespace real
