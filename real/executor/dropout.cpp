// SPDX-License-Identifier: Apache-2.0
#include "real/executor/dropout.h"

#include <algorithm>

#include "kernels/philox.h"
#include "real/executor/positions.h"
#include "real/executor/shares.h"

namespace real {
namespace {

kernels::Dropout stream_of(const Task& task, DropoutSite site) {
  return {*task.rank.job.training.dropout, dropout_stream(task.rank.settings.seed, task.site.layer, site), 0};
}

/// Tokens that lie one behind the other both in memory and in the job.
struct Run {
  std::int64_t row, tokens, token;  // the first's row in memory; how many; the first's number in the job
};

/// Of a microbatch on this context-parallel rank.
std::vector<Run> runs_of(const Task& task) {
  const std::int64_t sequence = task.c.sequence, first = first_sequence(task) * sequence;
  std::vector<Run> out;
  const Share own = share_of(task, task.rank.place.cp());
  std::int64_t row = 0;
  for (std::int64_t b = 0; b < task.c.batch; ++b) {
    for (const plan::Stretch& stretch : own[b]) {
      const std::int64_t token = first + b * sequence + stretch.begin;
      if (!out.empty() && out.back().token + out.back().tokens == token) {
        out.back().tokens += stretch.length;
      } else {
        out.push_back({row, stretch.length, token});
      }
      row += stretch.length;
    }
  }
  return out;
}

void drop_run(Task& task, kernels::Dropout dropout, std::int64_t place, std::int64_t begin, std::int64_t count,
              const Tensor& x, const Tensor& y) {
  dropout.offset = static_cast<std::uint64_t>(place);
  task.backend.dropout(dropout, x.part(begin, count), y.part(begin, count));
}

}  // namespace

std::uint64_t dropout_stream(std::uint64_t seed, int layer, DropoutSite site) {
  const auto counter = 4 * static_cast<std::uint64_t>(layer + 1) + static_cast<std::uint64_t>(site);
  const kernels::Four random = kernels::philox(seed, counter);
  return std::uint64_t{random.word[1]} << 32 | random.word[0];
}

void drop_hidden(Task& task, DropoutSite site, const Tensor& x, const Tensor& y) {
  const std::int64_t width = task.c.hidden, shard = task.c.shard_tokens;
  const std::int64_t begin = task.c.sp ? task.rank.place.tp() * shard : 0, end = begin + shard;
  const kernels::Dropout dropout = stream_of(task, site);
  for (const Run& run : runs_of(task)) {
    const std::int64_t from = std::max(begin, run.row), to = std::min(end, run.row + run.tokens);
    if (from >= to) continue;
    drop_run(task, dropout, (run.token + from - run.row) * width, (from - begin) * width, (to - from) * width, x, y);
  }
}

void drop_probabilities(Task& task, const Tensor& x, const Tensor& y) {
  const std::int64_t matrix = task.c.sequence * task.c.sequence, heads = task.c.heads, all = heads * task.c.tp;
  const kernels::Dropout dropout = stream_of(task, DropoutSite::probabilities);
  for (std::int64_t b = 0; b < task.c.batch; ++b) {
    const std::int64_t first = (first_sequence(task) + b) * all + task.rank.place.tp() * heads;
    drop_run(task, dropout, first * matrix, b * heads * matrix, heads * matrix, x, y);
  }
}

void drop_in_kernel(const Task& task, const Corner& corner, kernels::Attention& a) {
  if (!task.c.dropout) return;
  const std::int64_t sequence = task.c.sequence, matrix = sequence * sequence;
  const std::int64_t heads = std::int64_t{task.c.heads} * task.c.tp;
  const std::int64_t head = task.rank.place.tp() * std::int64_t{task.c.heads} + corner.head;
  const std::int64_t first = first_sequence(task) + corner.sequence;
  a.dropout = stream_of(task, DropoutSite::probabilities);
  a.dropout.offset = static_cast<std::uint64_t>((first * heads + head) * matrix + corner.query * sequence + corner.key);
  a.places = {heads * matrix, matrix, sequence};
}

}  // namespace real
