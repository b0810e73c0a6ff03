// kernels/grouped_matmul.cpp -- see grouped_matmul.h.
// SPDX-License-Identifier: Apache-2.0
#include "kernels/grouped_matmul.h"

namespace kernels {
namespace {

using Pass = GroupedMatmul::Pass;

/// Of the expert with this number, whose rows begin at `begin`.
ExpertMatmul of_expert(const GroupedMatmul& g, std::int64_t number, std::int64_t begin, std::int64_t rows) {
  const std::int64_t x = begin * g.in, y = begin * g.out, w = number * g.out * g.in;
  switch (g.pass) {
    case Pass::forward: return {{rows, g.out, g.in, false, true}, x, w, y};
    case Pass::input_gradient: return {{rows, g.in, g.out}, y, w, x};
    case Pass::weight_gradient: return {{g.out, g.in, rows, true, false, 1, g.adds ? 1.0 : 0.0}, y, x, w};
  }
  return {};
}

}  // namespace

std::vector<ExpertMatmul> of_experts(const GroupedMatmul& g) {
  std::vector<ExpertMatmul> out;
  std::int64_t begin = 0;
  for (std::size_t i = 0; i < g.rows.size(); ++i) {
    const bool writes = g.rows[i] > 0 || (g.pass == Pass::weight_gradient && !g.adds);
    if (writes) out.push_back(of_expert(g, static_cast<std::int64_t>(i), begin, g.rows[i]));
    begin += g.rows[i];
  }
  return out;
}

namespace reference {

void grouped_matmul(const GroupedMatmul& g, Input a, Input b, Output c) {
  for (const ExpertMatmul& e : of_experts(g)) matmul(e.matmul, a.subspan(e.a), b.subspan(e.b), c.subspan(e.c));
}

}  // namespace reference
}  // namespace kernels
