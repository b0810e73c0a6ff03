// tests/real/executor/no_flush_test.cpp -- PipeDream: losses, gradients and weights of a pipeline without a flush are
// those of a plain emulation, one microbatch after the other, each with the versions of the weights that its forward
// found on every stage. SPDX-License-Identifier: Apache-2.0
#include <cstdint>

#include "kernels/adamw.h"
#include "real/cpu/cpu_backend.h"
#include "real/cpu/memory.h"
#include "tests/real/executor/tiny.h"

namespace {

using Weights = std::map<tiny::Key, std::vector<double>>;

/// Of stage s of p, with m microbatches in a step. Its forwards are p - s microbatches ahead of its backwards, and the
/// weights are updated behind m backwards and as many forwards: microbatch n is forwarded in step (n - (p - s)) / m,
/// and the first p - s before the first step.
int version_of(int n, int stage, int stages, int microbatches) {
  const int behind_fill = n - (stages - stage);
  return behind_fill < 0 ? 0 : behind_fill / microbatches;
}

/// One rank with the whole model, one microbatch a step; weights are put in from outside.
class Emulation {
 public:
  Emulation(const spec::Job& pipelined, int steps) : stages_(pipelined.strategy.pp), microbatches_(0) {
    spec::Job draft = tiny::draft(pipelined.model, {}, pipelined.training.micro_batch);
    draft.training.micro_batch = pipelined.training.micro_batch;
    draft.training.dropout = pipelined.training.dropout;
    draft.strategy.lora = pipelined.strategy.lora;
    const spec::Job job = toy::resolved(draft);
    const plan::Plan plan = plan::build(job);
    const real::Tokens tokens = tiny::tokens(job);
    microbatches_ = static_cast<int>(pipelined.training.global_batch / pipelined.training.micro_batch);
    std::vector<real::World> worlds = real::in_process(1, {});
    real::CpuBackend backend(worlds[0]);
    real::Executor executor(job, plan, 0, backend, tokens, tiny::settings());
    for (const real::Parameter& p : executor.state().parameters.all()) {
      Weights::mapped_type& values = start_[{p.layer, p.name}];
      const auto all = real::cpu::numbers(p.weight.tensor);
      values.assign(all.begin(), all.end());
      m_[{p.layer, p.name}] = v_[{p.layer, p.name}] = std::vector<double>(values.size(), 0);
    }
    versions_.push_back(start_);
    for (int step = 0; step < steps; ++step) train(executor, step);
  }

  std::vector<double> losses;
  Weights gradients;  // of the last step
  const Weights& weights() const { return versions_.back(); }

 private:
  int stage_of(const tiny::Key& key) const {
    const int layers_a_stage = 4 / stages_;
    if (key.first >= 0) return key.first / layers_a_stage;
    return key.second.find("embedding") == std::string::npos ? stages_ - 1 : 0;
  }

  void train(real::Executor& executor, int step) {
    losses.push_back(0);
    gradients.clear();
    for (int i = 0; i < microbatches_; ++i) {
      const int n = step * microbatches_ + i;
      for (const real::Parameter& p : executor.state().parameters.all()) {
        const tiny::Key key{p.layer, p.name};
        const Weights& version = versions_.at(version_of(n, stage_of(key), stages_, microbatches_));
        std::ranges::copy(version.at(key), real::cpu::numbers(p.weight.tensor).begin());
      }
      losses.back() += executor.step().loss / microbatches_;
      for (const auto& [key, values] : executor.state().kept_gradients) {
        std::vector<double>& sum = gradients[key];
        sum.resize(values.size());
        for (std::size_t j = 0; j < values.size(); ++j) sum[j] += values[j] / microbatches_;
      }
    }
    update(step);
  }

  /// Without the norm of all stages nothing is clipped.
  void update(int step) {
    Weights next = versions_.back();
    kernels::AdamW adamw = tiny::settings().optimizer;
    adamw.step = step + 1;
    for (auto& [key, weights] : next) {
      if (!gradients.contains(key)) continue;  // frozen
      kernels::reference::adamw(adamw, 1, gradients.at(key), weights, m_.at(key), v_.at(key));
    }
    versions_.push_back(std::move(next));
  }

  int stages_, microbatches_;
  Weights start_, m_, v_;
  std::vector<Weights> versions_;
};

spec::Job pipedream(const spec::Model& model, toy::Cut cut, std::int64_t global_batch) {
  cut.schedule = spec::Schedule::pipedream;
  return tiny::draft(model, cut, global_batch);
}

void expect_emulated(const spec::Job& draft) {
  constexpr int kSteps = 4;
  const spec::Job job = toy::resolved(draft);
  const tiny::Run run = tiny::run(job, kSteps);
  const Emulation emulation(job, kSteps);
  const tiny::Run expected{emulation.losses, std::vector<double>(kSteps, NAN), emulation.gradients};
  EXPECT_LT(tiny::difference(run, expected), 1e-10);
}

TEST(NoFlush, EachBackwardReadsTheWeightsOfItsForward) {
  for (const int stages : {2, 4}) {
    // More microbatches than stages, as many, fewer: a version or several are kept.
    for (const std::int64_t microbatches : {8, 4, 2, 1}) {
      SCOPED_TRACE(std::to_string(stages) + " stages, " + std::to_string(microbatches) + " microbatches");
      expect_emulated(pipedream(tiny::llama(4), {.pp = stages}, microbatches));
    }
  }
}

TEST(NoFlush, WithRecomputationExpertsAdaptersSeveralSequencesAndDropout) {
  const auto changed = [](const spec::Model& model, auto change) {
    spec::Job j = pipedream(model, {.pp = 2}, 8);
    change(j);
    expect_emulated(j);
  };
  changed(tiny::llama(4), [](spec::Job& j) { j.strategy.recompute.kind = spec::Recompute::Kind::full; });
  changed(tiny::llama(4), [](spec::Job& j) { j.training.micro_batch = 2; });
  changed(tiny::moe(4), [](spec::Job&) {});
  changed(tiny::moe(4), [](spec::Job& j) { j.strategy.lora = {.rank = 4, .qkv = true, .ffn = true}; });
  // A backward drops what its forward, of a step before, has dropped; so does what it computes again.
  for (const auto kind : {spec::Recompute::Kind::none, spec::Recompute::Kind::full}) {
    changed(tiny::gpt(4), [kind](spec::Job& j) {
      j.model.tied_embeddings = false;
      j.training.dropout = 0.2;
      j.strategy.recompute.kind = kind;
    });
  }
}

/// The ranks of a stage agree on versions, so that cutting it changes nothing, nor does sharding its optimizer.
TEST(NoFlush, StagesOfSeveralRanksAreThoseOfOne) {
  const auto same = [&](const tiny::Run& one, const spec::Model& model, const toy::Cut& cut, auto change) {
    spec::Job j = pipedream(model, cut, 8);
    change(j);
    EXPECT_LT(tiny::difference(one, tiny::run(toy::resolved(j), 4)), 1e-10);
  };
  const auto run = [](const spec::Model& model, const toy::Cut& cut) {
    return tiny::run(toy::resolved(pipedream(model, cut, 8)), 4);
  };
  const auto as_it_is = [](spec::Job&) {};
  const auto overlapped = [](spec::Job& j) { j.strategy.overlap.grad_reduce = j.strategy.overlap.param_gather = true; };
  const tiny::Run llama = run(tiny::llama(4), {.pp = 2});
  same(llama, tiny::llama(4), {.tp = 2, .sp = true, .pp = 2}, as_it_is);
  same(llama, tiny::llama(4), {.tp = 4, .pp = 2}, as_it_is);
  // Data-parallel ranks read other sequences in other microbatches.
  for (const spec::Model& model : {tiny::llama(4), tiny::gpt(4), tiny::ahead(tiny::llama(4), 2)}) {
    const tiny::Run two = run(model, {.pp = 2, .dp = 2});
    same(two, model, {.pp = 2, .dp = 2}, overlapped);
    same(two, model, {.pp = 2, .dp = 2, .zero = 1}, as_it_is);
    same(two, model, {.pp = 2, .dp = 2, .zero = 1}, overlapped);
  }
}

/// What a stage keeps beside the latest weights: one version where a step has as many microbatches as are under way.
TEST(NoFlush, WeightsThatNobodyWillReadAreLetGo) {
  std::map<int, std::size_t> kept;  // by stage
  const spec::Job job = toy::resolved(pipedream(tiny::llama(4), {.pp = 2}, 1));
  const auto visit = [&](const real::Executor& executor) {
    const real::RankState& state = executor.state();
    kept[state.place.stage()] = state.parameters.all().front().stashed.size();
  };
  real::train_on_cpu(job, plan::build(job), tiny::tokens(job), tiny::settings(), 5, {}, visit);
  // One microbatch a step: stage 0 has 2 under way, each of another version, and has since made a newer one.
  EXPECT_EQ(kept, (std::map<int, std::size_t>{{0, 2}, {1, 1}}));
}

}  // namespace
