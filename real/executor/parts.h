// real/executor/parts.h -- how matrices are cut over ranks: by rows, by columns, by heads, by the halves of a gated
// feed-forward, by experts. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "real/executor/parameters.h"

namespace real {

inline Part rows_part(std::int64_t rows, std::int64_t columns, std::vector<Range> cut) {
  return {rows, columns, std::move(cut), {0, columns}};
}
inline Part whole_part(std::int64_t rows, std::int64_t columns) { return rows_part(rows, columns, {{0, rows}}); }
inline Part columns_part(std::int64_t rows, std::int64_t columns, Range cut) {
  return {rows, columns, {{0, rows}}, cut};
}

/// Queries of all heads, then keys, then values; each cut by heads. With fewer heads of keys than ranks, neighbours
/// hold the same ones.
inline Part qkv_part(const plan::Context& c, int tp) {
  const int copies = c.axes[plan::Axis::kv_copies].size;
  const std::int64_t queries = c.q_width * c.tp, kv = c.kv_width * c.tp / copies, own = tp / copies * c.kv_width;
  return rows_part(queries + 2 * kv, c.hidden,
                   {{tp * c.q_width, c.q_width}, {queries + own, c.kv_width}, {queries + kv + own, c.kv_width}});
}

/// The gate's half, then the up half, each cut alike; not gated: one of them.
inline Part up_part(bool gated, std::int64_t ffn, std::int64_t columns, Range cut) {
  if (!gated) return rows_part(ffn, columns, {cut});
  return rows_part(2 * ffn, columns, {cut, {ffn + cut.begin, cut.length}});
}

/// `count` of `experts` equal matrices, from `first` on.
inline Part repeated(const Part& one, std::int64_t experts, std::int64_t first, std::int64_t count) {
  Part out{one.whole_rows * experts, one.whole_columns, {}, one.columns};
  for (std::int64_t e = first; e < first + count; ++e) {
    for (const Range& rows : one.rows) out.rows.push_back({e * one.whole_rows + rows.begin, rows.length});
  }
  return out;
}

}  // namespace real
