// SPDX-License-Identifier: Apache-2.0
#include "real/executor/shares.h"

#include "real/executor/documents.h"

namespace real {
namespace {

bool deals_documents(const Task& task) { return packs(task) && task.c.strategy.rings(); }

}  // namespace

std::int64_t tokens_of(const Stretches& stretches) {
  std::int64_t sum = 0;
  for (const plan::Stretch& stretch : stretches) sum += stretch.length;
  return sum;
}

Stretches deal_documents(const Stretches& documents, int rank, int cp, bool zigzag) {
  const std::int64_t chunks = zigzag ? 2 * std::int64_t{cp} : cp;
  Stretches out;
  std::int64_t turn = 0;  // the chunk that gets the next token more
  for (const plan::Stretch& document : documents) {
    const std::int64_t each = document.length / chunks, more = document.length % chunks;
    std::int64_t begin = document.begin;
    for (std::int64_t chunk = 0; chunk < chunks; ++chunk) {
      const std::int64_t length = each + ((chunk - turn + chunks) % chunks < more ? 1 : 0);
      const bool own = chunk == rank || (zigzag && chunk == chunks - 1 - rank);
      if (own && length > 0) out.push_back({begin, length});
      begin += length;
    }
    turn = (turn + more) % chunks;
  }
  return out;
}

Stretches stretches_of(const Task& task, int cp_rank) {
  return plan::stretches_of(cp_rank, task.c.cp, task.c.sequence, task.c.zigzag);
}

Share share_of(const Task& task, int cp_rank) {
  if (!deals_documents(task)) return of_each(task, stretches_of(task, cp_rank));
  Share out;
  for (std::int64_t b = 0; b < task.c.batch; ++b) {
    out.push_back(deal_documents(documents_of(task, b), cp_rank, task.c.cp, task.c.zigzag));
  }
  return out;
}

Share of_each(const Task& task, const Stretches& stretches) { return Share(task.c.batch, stretches); }

Share whole_sequences(const Task& task) { return of_each(task, {{0, task.c.sequence}}); }

}  // namespace real
