// SPDX-License-Identifier: Apache-2.0
#include "real/executor/positions.h"

#include <vector>

#include "real/executor/documents.h"

namespace real {
namespace {

/// `of(ids of the sequence, place)` for each token.
template <class Of>
Tensor for_each_token(Task& task, Of of) {
  const std::vector<std::int32_t> places = task.rank.place.positions();
  const std::int64_t first = first_sequence(task);
  std::vector<std::int32_t> out;
  for (std::int64_t b = 0; b < task.c.batch; ++b) {
    const std::vector<std::int32_t> ids =
        task.rank.tokens.sequence(first + b, task.c.sequence, task.rank.job.model.mtp);
    for (const std::int32_t place : places) out.push_back(of(ids, place));
  }
  return task.backend.upload_indices(out);
}

using Ids = std::vector<std::int32_t>;

}  // namespace

/// Without a flush a microbatch is counted over all steps, and may be one of a step to come.
std::int64_t first_sequence(const Task& task) {
  const RankState& rank = task.rank;
  const std::int64_t number = task.site.microbatch, each = rank.has_flush() ? number + 1 : task.c.microbatches;
  const std::int64_t step = rank.has_flush() ? rank.step : number / each;
  return step * rank.job.training.global_batch +
         rank.place.first_sequence(static_cast<int>(number % each), task.site.chunk);
}

Tensor positions_of_tokens(Task& task) {
  std::vector<std::int32_t> out;
  const std::vector<std::int32_t> places = task.rank.place.positions();
  for (std::int64_t b = 0; b < task.c.batch; ++b) {
    const std::vector<plan::Stretch> documents = documents_of(task, b);
    for (const std::int32_t place : places) {
      out.push_back(static_cast<std::int32_t>(place - document_at(documents, place).begin));
    }
  }
  return task.backend.upload_indices(out);
}

Tensor ids_of_tokens(Task& task) {
  return for_each_token(task, [&](const Ids& ids, std::int32_t place) { return ids[place + task.op.module]; });
}

Tensor targets_of_tokens(Task& task) {
  return for_each_token(task, [&](const Ids& ids, std::int32_t place) { return ids[place + 1 + task.op.module]; });
}

}  // namespace real
