// SPDX-License-Identifier: Apache-2.0
#include "real/executor/actions/row_blocks.h"

namespace real {
namespace {

std::string at(const std::string& name, const char* what, std::int64_t i) {
  return name + ' ' + what + ' ' + std::to_string(i);
}

/// The i-th rank before this one in the tensor-parallel group.
std::int64_t before(const Task& task, std::int64_t i) {
  return (task.rank.place.tp() - i % task.c.tp + task.c.tp) % task.c.tp;
}

std::string shard_name(const std::string& source, const std::string& gathered, std::int64_t i) {
  return i == 0 ? source : at(gathered, "shard", i);
}

}  // namespace

bool gathers_by_blocks(const Task& task) {
  return task.c.sp && (task.c.tp_overlap == spec::TpOverlap::chunked || reduces_by_blocks(task));
}

bool reduces_by_blocks(const Task& task) { return task.c.tp_overlap == spec::TpOverlap::userbuffers && task.c.tp > 1; }

std::int64_t column_block_count(const Task& task) { return reduces_by_blocks(task) ? task.c.tp : 2; }

std::vector<RowBlock> column_blocks(Task& task, std::int64_t number, const std::string& source,
                                    const std::string& gathered, std::int64_t width) {
  const std::int64_t shard = task.c.shard_tokens, own = task.rank.place.tp() * shard;
  if (number == 0) return {{task.read(source), own, shard}};
  if (reduces_by_blocks(task)) {
    return {{task.read(shard_name(source, gathered, number)), before(task, number) * shard, shard}};
  }
  const Tensor all = task.read(gathered);
  const std::int64_t behind = own + shard, rest = task.c.tokens - behind;
  std::vector<RowBlock> others;
  if (own > 0) others.push_back({all.part(0, own * width), 0, own});
  if (rest > 0) others.push_back({all.part(behind * width, rest * width), behind, rest});
  return others;
}

RowBlock row_block(Task& task, std::int64_t number, const std::string& source, std::int64_t width) {
  const std::int64_t piece = task.c.tokens / task.c.tp;
  const std::int64_t begin = (task.c.sp ? before(task, number + 1) : number) * piece;
  const bool last = !task.c.sp && number + 1 == task.c.tp;
  const std::int64_t rows = last ? task.c.tokens - begin : piece;
  return {task.read(source).part(begin * width, rows * width), begin, rows};
}

void gather_next_shard(Task& task, const std::vector<Ring>& rings) {
  const std::int64_t i = task.next_piece(1, task.c.tp - 1);
  for (const auto& [source, gathered] : rings) {
    const Tensor shard = task.read(shard_name(source, gathered, i));
    task.backend.shift(task.group(), shard,
                       task.make(shard_name(source, gathered, i + 1), shard.count, Purpose{shard.meaning}));
  }
}

void join_shards(Task& task, const std::string& source, const std::string& gathered) {
  const std::int64_t count = task.read(source).count;
  const Tensor all = task.make(gathered, count * task.c.tp);
  for (std::int64_t i = 0; i < task.c.tp; ++i) {
    task.backend.copy(task.read(shard_name(source, gathered, i)), all.part(before(task, i) * count, count));
  }
}

bool reduce_next_block(Task& task, const std::string& name) {
  const std::int64_t i = task.next_piece(1, task.c.tp);
  const bool last = i + 1 == task.c.tp;
  const Tensor block = task.read(at(name, "block", i)), sum = task.make(at(name, "sum", i), block.count);
  task.backend.copy(block, sum);
  if (task.c.sp) {
    if (i > 0) task.backend.add(task.read(at(name, "carried", i)), sum);
    if (!last) task.backend.shift(task.group(), sum, task.make(at(name, "carried", i + 1), sum.count));
    if (last) task.alias(name, at(name, "sum", i));
    return last;
  }
  task.backend.all_reduce(task.group(), Sum::add, sum);
  if (!last) return false;
  const std::int64_t width = sum.count / (task.c.tokens - i * (task.c.tokens / task.c.tp));
  const Tensor all = task.make(name, task.c.tokens * width);
  std::int64_t begin = 0;
  for (std::int64_t j = 0; j <= i; ++j) {
    const Tensor part = task.read(at(name, "sum", j));
    task.backend.copy(part, all.part(begin, part.count));
    begin += part.count;
  }
  return true;
}

}  // namespace real
