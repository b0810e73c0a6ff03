// core/plan/work.cpp -- floating-point operations of each kind of work.
// SPDX-License-Identifier: Apache-2.0
#include "core/plan/work.h"

#include <algorithm>

namespace plan {
namespace {

/// Query-key pairs that one head of one sequence attends to. Under a causal mask the last query sees the last key; a
/// query that stands before the first key sees none.
double attended_pairs(const Attention& a) {
  if (a.document > 0 && a.document < a.q_len) {
    Attention one = a;
    one.q_len = one.kv_len = a.document;
    one.document = 0;
    return attended_pairs(one) * static_cast<double>(a.q_len) / static_cast<double>(a.document);
  }
  const double q = static_cast<double>(a.q_len), kv = static_cast<double>(a.kv_len);
  const double window = a.window > 0 ? std::min(static_cast<double>(a.window), kv) : kv;
  if (!a.causal) return q * window;
  const double queries = std::min(q, kv);
  // Queries see min(position, window) keys: whole windows, less the triangle of those that stand near the start.
  const double missing = std::max(0.0, window - (kv - queries));
  return queries * window - missing * missing / 2;
}

double flops(const Matmul& w) {
  return 2.0 * static_cast<double>(w.m) * static_cast<double>(w.n) * static_cast<double>(w.k) *
         static_cast<double>(w.batch);
}
double flops(const Attention& w) {
  const double keys = w.head_dim, values = w.value_dim();
  return 2 * pairs_of(w) * w.heads * (w.backward ? 3 * keys + 2 * values : keys + values);
}
double flops(const Convolution& w) {
  const double positions = static_cast<double>(w.out_size()) * static_cast<double>(w.out_size());
  return 2.0 * static_cast<double>(w.batch) * positions * static_cast<double>(w.out) *
         static_cast<double>(w.in / w.groups) * w.kernel * w.kernel;
}
/// A token and head: with the other tokens of its chunk (keys with queries, then with values), into the state, and out
/// of it. mamba2 shares the first among the heads of a group; the delta rule also has products of keys with keys, and
/// of the inverse of their triangle with keys and values, and takes from the state what it holds already.
double flops(const Recurrence& w) {
  const double tokens = static_cast<double>(w.batch * w.length), q = w.chunk, k = w.state, v = w.head_dim;
  const double heads = w.heads, groups = w.groups;
  const double inside = w.kind == spec::Recurrent::Kind::mamba2 ? groups * k + heads * v : heads * (3 * k + 2 * v);
  const double states = w.kind == spec::Recurrent::Kind::mamba2 ? 2 : 3;
  return 2 * tokens * (q * inside + states * heads * k * v) * (w.backward ? 2 : 1);
}
/// Backward: scores again, then the gradients of queries and keys.
double flops(const IndexScores& w) { return 2 * pairs_of(w) * w.heads * w.head_dim * (w.backward ? 3 : 1); }
template <class Other>
double flops(const Other&) {
  return 0;
}

}  // namespace

double pairs_of(const Attention& w) {
  const bool whole = w.kernel == spec::AttentionKernel::mem_efficient;  // its mask is data
  return static_cast<double>(w.batch) * (whole ? static_cast<double>(w.q_len * w.kv_len) : attended_pairs(w));
}

double pairs_of(const IndexScores& w) {
  return pairs_of(Attention{.batch = w.batch,
                            .q_len = w.q_len,
                            .kv_len = w.kv_len,
                            .causal = w.causal,
                            .window = w.chosen,
                            .document = w.document});
}

/// Mamba-2 forward: decays summed up, states, passed on, products, output; backward: the first four again, then eleven
/// (mamba_ssm/ops/triton/ssd_combined.py). The delta rule forward: decays summed up, products, triangle, through it,
/// states, output; backward: two again, then five and two additions (fla/ops/gated_delta_rule/chunk.py).
int scan_kernels(const Recurrence& w) {
  if (w.kind == spec::Recurrent::Kind::mamba2) return w.backward ? 15 : 5;
  return w.backward ? 9 : 6;
}

double hardware_flops(const Work& work) {
  return std::visit([](const auto& w) { return flops(w); }, work);
}

}  // namespace plan
