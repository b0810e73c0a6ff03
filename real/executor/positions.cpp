// SPDX-License-Identifier: Apache-2.0
#include "real/executor/positions.h"

#include <vector>

#include "real/executor/documents.h"
#include "real/executor/shares.h"

namespace real {
namespace {

/// `of(what `sequence(b)` knows of the b-th sequence, place)` for each token of this context-parallel rank.
template <class Sequence, class Of>
Tensor for_each_token(Task& task, Sequence sequence, Of of) {
  const Share own = share_of(task, task.rank.place.cp());
  std::vector<std::int32_t> out;
  for (std::int64_t b = 0; b < task.c.batch; ++b) {
    const auto known = sequence(b);
    for (const plan::Stretch& stretch : own[b]) {
      for (std::int64_t i = 0; i < stretch.length; ++i) out.push_back(of(known, stretch.begin + i));
    }
  }
  return task.backend.upload_indices(out);
}

/// The id that stands so many places behind each token.
Tensor ids_behind(Task& task, int behind) {
  const std::int64_t first = first_sequence(task);
  const auto ids = [&](std::int64_t b) {
    return task.rank.tokens.sequence(first + b, task.c.sequence, task.rank.job.model.mtp);
  };
  return for_each_token(task, ids, [&](const auto& of, std::int64_t place) { return of[place + behind]; });
}

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
  const auto documents = [&](std::int64_t b) { return documents_of(task, b); };
  return for_each_token(task, documents, [](const Stretches& of, std::int64_t place) {
    return static_cast<std::int32_t>(place - document_at(of, place).begin);
  });
}

Tensor ids_of_tokens(Task& task) { return ids_behind(task, task.op.module); }

Tensor targets_of_tokens(Task& task) { return ids_behind(task, task.op.module + 1); }

}  // namespace real
