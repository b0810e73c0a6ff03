// SPDX-License-Identifier: Apache-2.0
#include "real/executor/actions/latent.h"

#include "real/executor/actions/linear.h"
#include "real/executor/gradients.h"
#include "real/executor/heads.h"
#include "real/executor/positions.h"

namespace real {
namespace {

using kernels::Direction;

/// Numbers of a head's queries, values; of their parts; of a token's narrow vector.
struct Widths {
  std::int64_t heads, query, own, rotary, value, narrow;
};

Widths widths(const Task& task) {
  const spec::Mla& m = *task.c.model.mla;
  return {task.c.heads,    task.c.head_dim,  m.nope_head_dim,
          m.rope_head_dim, m.value_head_dim, std::int64_t{m.kv_lora_rank}};
}

/// Columns of each of `rows` rows: `width` from the first of `from_pitch` to the first of `to_pitch`.
void columns(Task& task, std::int64_t rows, std::int64_t width, std::int64_t from_pitch, const Tensor& from,
             std::int64_t to_pitch, const Tensor& to) {
  task.backend.strided_copy(kernels::row_pieces(rows, width, from_pitch, to_pitch), from, to);
}

Tensor behind(const Tensor& x, std::int64_t first) { return x.part(first, x.count - first); }

std::string query_name(const Task& task) { return task.c.model.mla->q_lora_rank > 0 ? "query up" : "query"; }

/// Turns the rotary part, which is the last one, of each of a token's `heads`, `pitch` numbers apart. `to` may be
/// `from`.
void turn(Task& task, Direction direction, std::int64_t heads, std::int64_t pitch, const Tensor& from,
          const Tensor& to) {
  const std::int64_t rotary = widths(task).rotary;
  if (task.c.model.ropes()) {
    const kernels::Rotary shape{task.c.tokens, heads, pitch, rotary, heads * pitch, 10000, false, pitch - rotary};
    task.backend.rotary(shape, direction, positions_of_tokens(task), from, to);
  } else if (from.storage != to.storage) {
    task.backend.copy(from, to);
  }
}

Tensor own_rotary_keys(Task& task) {
  const Widths w = widths(task);
  const Tensor down = task.read("key and value down");
  const std::int64_t of = w.narrow + w.rotary, rows = down.count / of;
  const Tensor out = task.backend.allocate(rows * w.rotary);
  columns(task, rows, w.rotary, of, behind(down, w.narrow), w.rotary, out);
  return out;
}

void gather_rotary_keys(Task& task) {
  const Tensor own = own_rotary_keys(task), all = task.make("rotary keys", own.count * task.c.tp);
  expect_bytes(task, all.count, task.c.element);
  task.backend.all_gather(task.group(), own, all);
}

void turn_queries(Task& task) {
  const Widths w = widths(task);
  const Tensor before = task.read(query_name(task)), queries = task.make("queries", before.count);
  turn(task, Direction::forward, w.heads, w.query, before, queries);
}

void turn_keys(Task& task) {
  const Tensor before = task.c.sp ? task.read("rotary keys") : own_rotary_keys(task);
  turn(task, Direction::forward, 1, widths(task).rotary, before, task.make("turned keys", before.count));
}

/// Each head's own part beside the one that all share.
void join_keys(Task& task) {
  const Widths w = widths(task);
  const Tensor up = task.read("key and value up"), shared = task.read("turned keys");
  const std::int64_t rows = task.c.tokens * w.heads;
  const Tensor keys = task.make("keys", rows * w.query);
  columns(task, rows, w.own, w.own + w.value, up, w.query, keys);
  task.backend.strided_copy({.size = {1, task.c.tokens, w.heads, w.rotary},
                             .from_stride = {0, w.rotary, 0, 1},
                             .to_stride = {0, w.heads * w.query, w.query, 1}},
                            shared, behind(keys, w.own));
}

void cut_values(Task& task) {
  const Widths w = widths(task);
  const std::int64_t rows = task.c.tokens * w.heads;
  columns(task, rows, w.value, w.own + w.value, behind(task.read("key and value up"), w.own), w.value,
          task.make("values", rows * w.value));
}

void turn_and_join_keys(Task& task) {
  turn_keys(task);
  join_keys(task);
  cut_values(task);
}

/// Without a rotary embedding this is the first operator behind the projections.
void join_keys_alone(Task& task) {
  if (!task.c.model.ropes()) turn_latent(task);
  join_keys(task);
}

/// Zeros behind each head's values, or behind those of a gradient; and away with them.
void pad(Task& task, const Tensor& from, const char* to) {
  const Widths w = widths(task);
  const std::int64_t rows = task.c.tokens * w.heads;
  const Tensor padded = task.make(to, rows * w.query);
  task.backend.fill(padded, 0);
  columns(task, rows, w.value, w.value, from, w.query, padded);
}

void cut(Task& task, const char* from, const char* to) {
  const Widths w = widths(task);
  const std::int64_t rows = task.c.tokens * w.heads;
  columns(task, rows, w.value, w.query, task.read(from), w.value, task.make(to, rows * w.value));
}

/// The keys' rotary part, summed over heads.
void sum_rotary_keys(Task& task) {
  const Widths w = widths(task);
  const std::int64_t tokens = task.c.tokens, count = tokens * w.rotary;
  const Tensor by_head = task.backend.allocate(w.heads * count), sum = task.backend.allocate(count, kNumbers);
  task.backend.strided_copy({.size = {1, w.heads, tokens, w.rotary},
                             .from_stride = {0, w.query, w.heads * w.query, 1},
                             .to_stride = {0, count, w.rotary, 1}},
                            behind(task.read("d keys"), w.own), by_head);
  task.backend.fill(sum, 0);
  task.backend.sum_rows(w.heads, by_head, sum);
  task.backend.copy(sum, task.make("d rotary keys", count));
}

void turn_keys_gradient(Task& task) {
  const Tensor d = task.update("d rotary keys");
  turn(task, Direction::backward, 1, widths(task).rotary, d, d);
}

void up_gradient(Task& task) {
  const Widths w = widths(task);
  const std::int64_t rows = task.c.tokens * w.heads, of = w.own + w.value;
  const Tensor d = task.make("d key and value up", rows * of);
  columns(task, rows, w.own, w.query, task.read("d keys"), of, d);
  columns(task, rows, w.value, w.value, task.read("d values"), of, behind(d, w.own));
}

void queries_gradient(Task& task) {
  const Widths w = widths(task);
  const Tensor before = task.read("d queries"), d = task.make("d " + query_name(task), before.count);
  turn(task, Direction::backward, w.heads, w.query, before, d);
}

/// Every rank's heads have used the shared keys.
void reduce_rotary_keys(Task& task, bool scatters) {
  const Tensor partial = task.read("d rotary keys");
  expect_bytes(task, partial.count, task.c.element);
  const Tensor sum = task.make("d rotary keys", scatters ? partial.count / task.c.tp : partial.count);
  if (scatters) {
    task.backend.reduce_scatter(task.group(), partial, sum);
  } else {
    task.backend.copy(partial, sum);
    task.backend.all_reduce(task.group(), Sum::add, sum);
  }
}

/// Under context parallelism values travel as wide as they are.
Action where_padded(Action action) {
  return [action](Task& t) {
    if (pads_values(t)) action(t);
  };
}

void join_keys_and_values_gradient(Task& task) {
  up_gradient(task);
  if (!task.c.model.ropes()) turn_latent_gradient(task);
}

void add_latent_forward(Actions& actions) {
  actions["rotary keys all-gather"] = gather_rotary_keys;
  actions["rotary embedding of queries"] = turn_queries;
  actions["rotary embedding and join of keys"] = turn_and_join_keys;
  actions["join of queries"] = nothing;  // they are turned where they lie
  actions["join of keys"] = join_keys_alone;
  actions["values made contiguous"] = cut_values;
  actions["value padding"] = where_padded([](Task& t) { pad(t, t.read("values"), "padded values"); });
  actions["attention output cut"] = where_padded([](Task& t) { cut(t, "padded attention", "attention"); });
}

}  // namespace

void turn_latent(Task& task) {
  turn_queries(task);
  turn_keys(task);
}

void turn_latent_gradient(Task& task) {
  turn_keys_gradient(task);
  queries_gradient(task);
}

void join_narrow_gradient(Task& task) {
  const Widths w = widths(task);
  const Tensor narrow = task.read("d key and value norm input"), rotary = task.read("d rotary keys");
  const std::int64_t rows = narrow.count / w.narrow, of = w.narrow + w.rotary;
  const Tensor d = task.make("d key and value down", rows * of);
  columns(task, rows, w.narrow, w.narrow, narrow, of, d);
  columns(task, rows, w.rotary, w.rotary, rotary, of, behind(d, w.narrow));
}

void add_latent_actions(Actions& actions) {
  add_latent_forward(actions);
  actions["attention output cut gradient"] =
      where_padded([](Task& t) { pad(t, whole_gradient(t, "attention"), "d padded attention"); });
  actions["value padding gradient"] = where_padded([](Task& t) { cut(t, "d padded values", "d values"); });
  actions["rotary embedding and join of keys gradient"] = [](Task& t) {
    sum_rotary_keys(t);
    turn_keys_gradient(t);
    up_gradient(t);
  };
  actions["rotary embedding of queries gradient"] = queries_gradient;
  actions["sum of the keys' shared gradient"] = sum_rotary_keys;
  actions["join of keys and values gradient"] = join_keys_and_values_gradient;
  actions["join of queries gradient"] = nothing;
  actions["rotary keys gradient reduce-scatter"] = [](Task& t) { reduce_rotary_keys(t, true); };
  actions["rotary keys gradient all-reduce"] = [](Task& t) { reduce_rotary_keys(t, false); };
  actions["latent branches gradient"] = [](Task& t) {
    join_gradients(t, gradient_name("attention norm", ""), gradient_name("attention norm", "latent branches"));
  };
}

}  // namespace real
