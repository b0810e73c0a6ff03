// real/executor/actions/spread_vocabulary.cpp -- embedding and head cut over the stages of a pipeline: states go from
// one stage to all and are summed back, the softmax's statistics are joined (core/plan/vocabulary.h). Passes of the
// vocabulary have a site of their own, at chunk -1.
//
// With one barrier a stage multiplies softmax(own logits) by its rows before it knows the statistics of all; the sum
// over the stages corrects that (kernels/joined_loss.h). SPDX-License-Identifier: Apache-2.0
#include "real/executor/actions/spread_vocabulary.h"

#include <limits>
#include <string>

#include "real/executor/actions.h"
#include "real/executor/gradients.h"
#include "real/executor/positions.h"

namespace real {
namespace {

constexpr const char* kOwnMaximum = "own loss maximum";
constexpr const char* kOwnSum = "own loss sum";
constexpr const char* kTargetRows = "target rows";

bool is_first(const Task& task) { return task.rank.place.stage() == 0; }
bool is_last(const Task& task) { return task.rank.place.stage() + 1 == task.c.pp; }
bool has_one_barrier(const Task& task) { return task.c.strategy.vocab_barriers == 1; }

/// Of the chunk that begins or ends the model: the first stage's first one, the last stage's last one.
Site end_of_model(const Task& task, bool first) {
  const auto chunk = static_cast<std::int16_t>(first ? 0 : task.rank.chunks.size() - 1);
  return {chunk, task.site.microbatch, -1};
}

std::string states_gradient_name() { return gradient_name("final norm", "output head"); }

void spread(Task& task, int root, const char* name, const Site& from) {
  const std::int64_t count = task.c.shard_tokens * task.c.hidden;
  expect_bytes(task, count, task.c.element);
  if (task.rank.place.stage() != root) return task.backend.broadcast(task.group(), root, task.make(name, count));
  if (from != task.site) task.rank.values.at(task.site, name) = *task.rank.values.find(from, name);
  task.backend.broadcast(task.group(), root, task.read(name));
}

void spread_states(Task& task) { spread(task, task.c.pp - 1, "final norm", end_of_model(task, false)); }

void spread_rows_gradient(Task& task) { spread(task, 0, "gradient stream", task.site); }

void sum_rows(Task& task) {
  Tensor rows = task.stream();
  expect_bytes(task, rows.count, task.c.element);
  if (is_first(task)) {
    const Tensor sum = task.make_at(end_of_model(task, true), "stream", rows.count);
    task.backend.copy(rows, sum);
    rows = sum;
  }
  task.backend.reduce(task.group(), 0, rows);
  task.erase("stream");
}

void join_maximum(Task& task) {
  const Tensor own = task.read("loss maximum");
  expect_bytes(task, own.count, 4);  // fp32
  task.alias(kOwnMaximum, "loss maximum");
  const Tensor of_all = task.make("loss maximum", own.count, kStatistic);
  task.backend.copy(own, of_all);
  task.backend.all_reduce(task.group(), Sum::maximum, of_all);
}

/// Sum and target at once.
void join_sums(Task& task) {
  const Tensor total = task.read("loss sum"), target = task.read("loss target");
  task.alias(kOwnSum, "loss sum");
  const Tensor both = task.backend.allocate(2 * total.count, kStatistic);
  expect_bytes(task, both.count, 4);
  const Tensor of_total = both.part(0, total.count), of_target = both.part(total.count, total.count);
  task.backend.copy(total, of_total);
  task.backend.copy(target, of_target);
  task.backend.rescale_total(task.read(kOwnMaximum), task.read("loss maximum"), of_total);
  task.backend.all_reduce(task.group(), Sum::add, both);
  task.leave("loss sum", of_total);
  task.leave("loss target", of_target);
}

/// One barrier: the gradient of the logits as if this stage's were all, without the target's one.
void take_own_softmax(Task& task) {
  const plan::Context& c = task.c;
  const Tensor logits = task.read("output head"), d = task.make("d output head", logits.count, kLogits);
  const kernels::CrossEntropy no_target{c.tokens, c.vocab, std::numeric_limits<std::int32_t>::max(), 1};
  task.backend.copy(logits, d);
  task.backend.cross_entropy_gradient(no_target, targets_of_tokens(task), task.read("loss maximum"),
                                      task.read("loss sum"), d);
}

/// The rows are kept beside the product until both can be scaled.
void take_target_rows(Task& task) {
  const plan::Context& c = task.c;
  const Tensor rows = task.make(kTargetRows, c.tokens * c.hidden);
  const bool tied = task.find_parameter("output head.weight") == nullptr;
  task.backend.embedding_forward({c.tokens, c.hidden, c.vocab, first_row(c, task.rank.place)}, targets_of_tokens(task),
                                 task.weight(tied ? "embedding.weight" : "output head.weight"), rows);
}

void sum_states_gradient(Task& task) {
  const Tensor own = task.read(states_gradient_name());
  expect_bytes(task, own.count, task.c.element);
  const Site to = is_last(task) ? end_of_model(task, false) : task.site;
  const Tensor sum = task.make_at(to, is_last(task) ? states_gradient_name() : "summed states gradient", own.count);
  task.backend.copy(own, sum);
  if (has_one_barrier(task)) {
    task.backend.join_states({task.c.tokens, task.c.hidden, 1 / task.rank.plan.tokens}, targets_of_tokens(task),
                             task.read(kOwnMaximum), task.read(kOwnSum), task.read("loss maximum"),
                             task.read("loss sum"), task.read(kTargetRows), sum);
  }
  task.backend.reduce(task.group(), task.c.pp - 1, sum);
}

}  // namespace

void leave_rows_gradient(RankState& rank, std::int16_t chunk, std::int32_t microbatch) {
  if (!rank.c.spread_vocab || chunk < 0 || !rank.chunks[static_cast<std::size_t>(chunk)].first) return;
  rank.values.at({-1, microbatch, -1}, "gradient stream") =
      *rank.values.find({chunk, microbatch, -1}, "gradient stream");
}

void add_vocabulary_actions(Actions& actions) {
  actions["embedding reduce over stages"] = sum_rows;
  actions["normed states broadcast"] = spread_states;
  actions["loss maximum all-reduce over stages"] = join_maximum;
  actions["loss sum all-reduce over stages"] = join_sums;
  actions["target rows subtracted"] = take_target_rows;
  actions["states gradient reduce over stages"] = sum_states_gradient;
  actions["embedding gradient broadcast"] = spread_rows_gradient;
  const Action product = actions.at("output head input gradient");
  actions["output head input gradient"] = [product](Task& t) {
    if (t.c.spread_vocab && has_one_barrier(t)) take_own_softmax(t);
    product(t);
  };
}

}  // namespace real
