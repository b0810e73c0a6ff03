// real/gpu/bench/attention.cpp -- attention by cuDNN, forward or backward. SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "real/gpu/bench/kit.h"

namespace real {
namespace {

using config::AttentionRow;
using kernels::vendor::Pass;

kernels::Attention attention_of(const AttentionRow& s) {
  return {.batch = s.batch,
          .queries = s.q_len,
          .keys = s.kv_len,
          .heads = s.heads,
          .kv_heads = s.kv_heads,
          .head_dim = s.head_dim,
          .value_dim = s.value_head_dim,
          .scale = 1 / std::sqrt(static_cast<double>(s.head_dim)),
          .causal = s.causal};
}

struct Tensors {
  void *q, *k, *v, *out;
  float* lse;
  void *dout = nullptr, *dq = nullptr, *dk = nullptr, *dv = nullptr, *workspace = nullptr;
};

/// What the forward pass needs, and for a backward one what that needs, too.
Tensors tensors_of(const kernels::Attention& a, bool backward, kernels::vendor::AttentionLibrary& library,
                   Arena& arena) {
  const std::int64_t queries = a.batch * a.queries * a.heads, keys = a.batch * a.keys * a.kv_heads;
  const auto numbers = [&](std::int64_t count) { return arena.numbers(count, Filling::bf16); };
  Tensors t{.q = numbers(queries * a.head_dim),
            .k = numbers(keys * a.head_dim),
            .v = numbers(keys * a.value_dim),
            .out = numbers(queries * a.value_dim),
            .lse = arena.floats(queries)};
  std::size_t workspace = library.workspace_bytes(a, Pass::forward);
  if (backward) {
    t.dout = numbers(queries * a.value_dim);
    t.dq = numbers(queries * a.head_dim);
    t.dk = numbers(keys * a.head_dim);
    t.dv = numbers(keys * a.value_dim);
    workspace = std::max(workspace, library.workspace_bytes(a, Pass::backward));
  }
  t.workspace = arena.room(static_cast<std::int64_t>(workspace));
  return t;
}

}  // namespace

Work prepared(const AttentionRow& s, Kit& kit) {
  if (!kit.attention) kit.attention.emplace();
  kernels::vendor::AttentionLibrary& library = *kit.attention;
  const kernels::Attention a = attention_of(s);
  const bool backward = s.passes == AttentionRow::Passes::backward;
  const Tensors t = tensors_of(a, backward, library, kit.arena);
  const Work forward = [&library, a, t](const Stream& stream) {
    library.forward(a, t.q, t.k, t.v, t.out, t.lse, t.workspace, stream.get());
  };
  if (!backward) return forward;
  forward(kit.stream);  // backward reads its result
  return [&library, a, t](const Stream& stream) {
    library.backward(a, t.q, t.k, t.v, t.out, t.lse, t.dout, t.dq, t.dk, t.dv, t.workspace, stream.get());
  };
}

}  // namespace real
