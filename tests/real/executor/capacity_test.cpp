// tests/real/executor/capacity_test.cpp -- experts with a capacity: losses and gradients are those of a plain model
// that drops the same choices, and whatever shares the work between ranks changes none of them.
// SPDX-License-Identifier: Apache-2.0
#include <functional>

#include "tests/real/executor/reference_model.h"
#include "tests/real/executor/tiny.h"

namespace {

using spec::MoeDispatcher;
using Kind = spec::Recompute::Kind;
using Change = std::function<void(spec::Job&)>;

/// 8 tokens choose 2 of 4 experts each: an even share is 4 rows, so that 0.5 drops most and 1.75 pads.
constexpr double kFactors[] = {0.5, 1, 1.75};

spec::Job draft(const spec::Model& model, double factor, const toy::Cut& cut = {}, std::int64_t global_batch = 8) {
  spec::Job job = tiny::draft(model, cut, global_batch);
  job.strategy.moe_capacity_factor = factor;
  return job;
}

reference_model::Parameters starting_parameters(const spec::Job& job) {
  const plan::Plan plan = plan::build(job);
  const plan::Context c(job);
  const real::Place place(c, plan, 0);
  real::ParameterTable table(c, place, plan::chunks_of(c)[0]);
  reference_model::Parameters out;
  for (const real::Parameter& p : table.all()) out[{p.layer, p.name}] = real::starting_values(p, tiny::settings().seed);
  return out;
}

/// Of a single rank, whose sequences are cut into `shards` that drop by themselves.
class Plain {
 public:
  Plain(const spec::Job& single, std::size_t shards) : job_(single), parameters(starting_parameters(single)) {
    for (std::int64_t i = 0; i < job_.training.global_batch; ++i) {
      sequences_.push_back(tiny::tokens(job_).sequence(i, job_.training.sequence));
    }
    capacity_ = {*job_.strategy.moe_capacity_factor, static_cast<std::size_t>(job_.training.sequence) / shards};
  }
  double loss() const { return reference_model::loss(job_.model, parameters, sequences_, {}, capacity_); }

 private:
  spec::Job job_;
  std::vector<std::vector<std::int32_t>> sequences_;
  reference_model::Capacity capacity_;

 public:
  reference_model::Parameters parameters;
};

/// Central differences, off by h^2 f'''/6 = 1e-10 at h = 1e-5 and by rounding of 1e-11.
void expect_plain(const spec::Job& job, Plain plain) {
  const tiny::Run run = tiny::run(job, 1);
  EXPECT_NEAR(run.losses[0], plain.loss(), 1e-12);
  for (auto& [key, values] : plain.parameters) {
    const std::vector<double>& gradient = run.gradients.at(key);
    for (const std::size_t i : {values.size() / 7, values.size() - 1}) {
      const double w = values[i], h = 1e-5;
      values[i] = w + h;
      const double above = plain.loss();
      values[i] = w - h;
      const double below = plain.loss();
      values[i] = w;
      EXPECT_NEAR(gradient[i], (above - below) / (2 * h), 2e-9) << key.first << ' ' << key.second << ' ' << i;
    }
  }
}

spec::Model biased() {
  spec::Model m = tiny::gpt();
  m.name = "tiny gpt of experts";
  m.moe = spec::Moe{.experts = 4, .top_k = 2, .ffn = 12};
  return m;
}

TEST(Capacity, OneRankDropsWhatThePlainModelDrops) {
  for (const double factor : kFactors) {
    for (const spec::Model& model : {tiny::moe(), biased()}) {
      SCOPED_TRACE(model.name + ' ' + std::to_string(factor));
      for (const bool pads : {true, false}) {
        spec::Job job = draft(model, factor, {}, 4);
        job.strategy.moe_pad_to_capacity = pads;
        job = toy::resolved(job);
        expect_plain(job, Plain(job, 1));
      }
    }
  }
}

/// A rank's capacity is of its own tokens: half of a sequence each.
TEST(Capacity, RanksThatShareASequenceDropByThemselves) {
  for (const double factor : kFactors) {
    const spec::Job single = toy::resolved(draft(tiny::moe(), factor, {}, 4));
    spec::Job tensor = draft(tiny::moe(), factor, {.tp = 2, .sp = true}, 4);
    tensor.strategy.ep = 2;
    expect_plain(toy::resolved(tensor), Plain(single, 2));
    spec::Job context = draft(tiny::moe(), factor, {}, 4);
    context.cluster = toy::cluster(2);
    context.strategy.cp = 2;
    context.strategy.cp_balance = spec::CpBalance::none;
    expect_plain(toy::resolved(context), Plain(single, 2));
  }
}

struct Case {
  const char* name;
  toy::Cut cut;
  int ep, etp;
  Change change = [](spec::Job&) {};
};

/// Where every rank has whole sequences, its choices are those of one rank.
TEST(Capacity, WholeSequencesOnARankAreOneRanksToRounding) {
  const auto full = [](spec::Job& j) { j.strategy.recompute.kind = Kind::full; };
  const auto beside = [](spec::Job& j) { j.strategy.overlap.shared_expert = true; };
  const auto barrier = [](spec::Job& j) { j.strategy.optimizer_barrier = true; };
  const auto unpadded = [](spec::Job& j) { j.strategy.moe_pad_to_capacity = false; };
  const std::vector<Case> cases{{"ep 4", {.dp = 4}, 4, 1},
                                {"ep and etp", {.dp = 4, .zero = 1}, 2, 2},
                                {"dropped without padding", {.dp = 4, .zero = 1}, 2, 2, unpadded},
                                {"computed again", {.dp = 2, .zero = 2}, 2, 1, full},
                                {"zero 3", {.dp = 4, .zero = 3}, 2, 1},
                                {"shared experts beside", {.dp = 2}, 2, 1, beside},
                                {"zb-v", {.pp = 2, .dp = 2, .schedule = spec::Schedule::zb_v}, 2, 1, barrier}};
  for (const spec::Model& model : {tiny::moe(4), biased()}) {
    for (const double factor : {0.5, 1.75}) {
      const tiny::Run alone = tiny::run(toy::resolved(draft(model, factor)));
      for (const Case& c : cases) {
        if (c.cut.pp > 1 && model.layers < 4) continue;  // two chunks a stage
        for (const MoeDispatcher way : {MoeDispatcher::alltoall, MoeDispatcher::allgather, MoeDispatcher::deepep}) {
          SCOPED_TRACE(model.name + ", " + c.name + ", " + std::to_string(factor));
          spec::Job job = draft(model, factor, c.cut);
          job.strategy.ep = c.ep;
          job.strategy.etp = c.etp;
          job.strategy.etp_given = true;
          job.strategy.moe_dispatcher = way;
          c.change(job);
          EXPECT_LT(tiny::difference(alone, tiny::run(toy::resolved(job))), 1e-10);
        }
      }
    }
  }
}

}  // namespace
