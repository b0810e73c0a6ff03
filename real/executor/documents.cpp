// SPDX-License-Identifier: Apache-2.0
#include "real/executor/documents.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "kernels/philox.h"
#include "real/executor/positions.h"

namespace real {
namespace {

/// Of training, whose other streams have keys of their own.
constexpr std::uint64_t kStream = 0x646f63756d656e74;

double uniform(std::uint32_t word) { return (static_cast<double>(word) + 0.5) / 4294967296.0; }

std::int64_t draw(const spec::Packing& p, const kernels::Four& random) {
  if (!p.lengths.empty()) return p.lengths[random.word[0] % p.lengths.size()];
  const double normal =
      std::sqrt(-2 * std::log(uniform(random.word[0]))) * std::cos(2 * std::numbers::pi * uniform(random.word[1]));
  return std::llround(static_cast<double>(p.mean) + static_cast<double>(p.deviation) * normal);
}

}  // namespace

std::vector<plan::Stretch> draw_documents(const spec::Packing& packing, std::int64_t tokens, std::uint64_t seed,
                                          std::int64_t sequence) {
  std::vector<plan::Stretch> out;
  std::uint64_t counter = static_cast<std::uint64_t>(sequence) * static_cast<std::uint64_t>(tokens);
  for (std::int64_t begin = 0; begin < tokens; begin += out.back().length, ++counter) {
    const std::int64_t length = draw(packing, kernels::philox(seed ^ kStream, counter));
    out.push_back({begin, std::clamp<std::int64_t>(length, 1, tokens - begin)});
  }
  return out;
}

std::vector<plan::Stretch> documents_of(const Task& task, std::int64_t b) {
  if (!packs(task)) return {{0, task.c.sequence}};
  return draw_documents(*task.rank.job.training.packing, task.c.sequence, task.rank.settings.seed,
                        (first_sequence(task) + b) % task.rank.job.training.global_batch);
}

std::vector<plan::Stretch> spans_of(const Task& task, std::int64_t b) {
  return cut_by_chunks(documents_of(task, b), task.c.model.chunk_of(task.op.layer));
}

std::vector<plan::Stretch> cut_by_chunks(const std::vector<plan::Stretch>& documents, std::int64_t chunk) {
  if (chunk <= 0) return documents;
  std::vector<plan::Stretch> out;
  for (const plan::Stretch& document : documents) {
    const std::int64_t end = document.begin + document.length;
    for (std::int64_t begin = document.begin; begin < end; begin += out.back().length) {
      out.push_back({begin, std::min(end, (begin / chunk + 1) * chunk) - begin});
    }
  }
  return out;
}

const plan::Stretch& document_at(const std::vector<plan::Stretch>& documents, std::int64_t place) {
  return *std::prev(std::upper_bound(documents.begin(), documents.end(), place,
                                     [](std::int64_t at, const plan::Stretch& d) { return at < d.begin; }));
}

Tensor begins_of_documents(Task& task) {
  std::vector<std::int32_t> out;
  for (std::int64_t b = 0; b < task.c.batch; ++b) {
    for (const plan::Stretch& document : documents_of(task, b)) {
      out.insert(out.end(), static_cast<std::size_t>(document.length), static_cast<std::int32_t>(document.begin));
    }
  }
  return task.backend.upload_indices(out);
}

}  // namespace real
