// tests/core/plan/toy_moe.h -- the toy with experts: 128 tokens a microbatch, h = 256, two matrices an expert of inner
// width 512, 8 experts, 2 for each token. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "core/plan/build.h"
#include "tests/core/plan/walk.h"

namespace toy_moe {

inline void with_experts(spec::Job& j) {
  j.model.moe = spec::Moe{.experts = 8, .top_k = 2, .ffn = 512};
  j.model.bias = false;
}

template <class Change>
spec::Job with(const toy::Cut& cut, Change change) {
  return toy::job(cut, [&](spec::Job& j) {
    with_experts(j);
    change(j);
  });
}

inline spec::Job spread(int ep, int etp = 1, int dp = 4) {
  return with({.dp = dp}, [&](spec::Job& j) {
    j.strategy.ep = ep;
    j.strategy.etp = etp;
  });
}

/// What a rank of each stage holds, together.
inline plan::Held held_by_stages(const plan::Context& c) {
  plan::Held held;
  for (const auto& stage : plan::chunks_of(c)) {
    for (const plan::Chunk& chunk : stage) held += plan::chunk_parameters(c, chunk);
  }
  return held;
}

inline std::vector<std::pair<std::string, plan::Matmul>> expert_matmuls(const spec::Job& j) {
  const plan::Plan p = plan::build(j);
  std::vector<std::pair<std::string, plan::Matmul>> out;
  walk::operators(p, p.roles[0], [&](const plan::Call&, const plan::Operator& op) {
    const auto* work = std::get_if<plan::Matmul>(&p.works[op.work]);
    if (work && op.layer == 0 && p.names[op.name].starts_with("expert")) out.push_back({p.names[op.name], *work});
  });
  return out;
}

}  // namespace toy_moe
