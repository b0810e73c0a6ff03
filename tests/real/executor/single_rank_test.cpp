// tests/real/executor/single_rank_test.cpp -- one rank runs a Plan: loss and gradients are those of the plain model,
// and training learns. SPDX-License-Identifier: Apache-2.0
#include <optional>

#include "real/executor/documents.h"
#include "tests/real/executor/reference_model.h"
#include "tests/real/executor/tiny.h"

namespace {

struct Case {
  spec::Model model;
  double dropout = 0;
  std::optional<spec::Packing> packing = {};
};

const spec::Packing kMixed{.lengths = {3, 1, 5}}, kAround{.lengths = {}, .mean = 3, .deviation = 2};

spec::Job job_of(const Case& c, std::int64_t global_batch) {
  spec::Job job = tiny::draft(c.model, {}, global_batch);
  job.training.dropout = c.dropout;
  job.training.packing = c.packing;
  return toy::resolved(job);
}

class SingleRank : public testing::TestWithParam<Case> {};

spec::Model windowed() {
  spec::Model m = tiny::llama();
  m.name = "windowed";
  m.window = 3;
  m.window_every = 2;
  return m;
}

/// One layer of chunks with rotary embedding, one that sees all without.
spec::Model chunked(std::int64_t chunk = 4) {
  spec::Model m = tiny::llama();
  m.name = "chunked by " + std::to_string(chunk);
  m.attention_chunk = chunk;
  m.full_every = m.nope_every = 2;
  return m;
}

spec::Model relu(spec::Activation one) {
  spec::Model m = tiny::gpt();
  m.name = one == spec::Activation::relu ? "relu" : "squared relu";
  m.activation = one;
  return m;
}

/// In the feed-forward, or in its experts.
spec::Model geglu(spec::Model m) {
  m.name += " geglu";
  m.activation = spec::Activation::geglu;
  return m;
}
spec::Model clamped(spec::Model m) {
  m.name += " clamped";
  m.activation = spec::Activation::clamped_swiglu;
  return m;
}

/// The parameters that training starts from, at places of their own in the executor.
reference_model::Parameters starting_parameters(const spec::Job& job) {
  const plan::Plan plan = plan::build(job);
  const plan::Context c(job);
  const real::Place place(c, plan, 0);
  real::ParameterTable table(c, place, plan::chunks_of(c)[0]);
  reference_model::Parameters out;
  for (const real::Parameter& p : table.all()) out[{p.layer, p.name}] = real::starting_values(p, tiny::settings().seed);
  return out;
}

std::vector<std::vector<std::int32_t>> sequences(const spec::Job& job) {
  std::vector<std::vector<std::int32_t>> out;
  for (std::int64_t i = 0; i < job.training.global_batch; ++i) {
    out.push_back(tiny::tokens(job).sequence(i, job.training.sequence, job.model.mtp));
  }
  return out;
}

reference_model::Documents documents(const spec::Job& job) {
  reference_model::Documents out;
  for (std::int64_t i = 0; job.training.packing && i < job.training.global_batch; ++i) {
    out.emplace_back();
    for (const plan::Stretch& d :
         real::draw_documents(*job.training.packing, job.training.sequence, tiny::settings().seed, i)) {
      out.back().insert(out.back().end(), d.length, d.begin);
    }
  }
  return out;
}

double plain_loss(const spec::Job& job, const reference_model::Parameters& parameters) {
  return reference_model::loss(job.model, parameters, sequences(job), {*job.training.dropout, tiny::settings().seed},
                               {}, documents(job));
}

TEST_P(SingleRank, LossIsThatOfThePlainModel) {
  const spec::Job job = job_of(GetParam(), 4);
  EXPECT_NEAR(tiny::run(job, 1).losses[0], plain_loss(job, starting_parameters(job)), 1e-12);
}

TEST_P(SingleRank, GradientsAreCentralDifferencesOfThePlainModel) {
  // (f(w + h) - f(w - h)) / 2h is off by h^2 f'''/6: 1e-10 at h = 1e-5, and rounding 1e-16 / h = 1e-11 comes on top.
  const spec::Job job = job_of(GetParam(), 4);
  const tiny::Run run = tiny::run(job, 1);
  reference_model::Parameters parameters = starting_parameters(job);
  for (auto& [key, values] : parameters) {
    const std::vector<double>& gradient = run.gradients.at(key);
    ASSERT_EQ(gradient.size(), values.size());
    for (const std::size_t i : {values.size() / 7, values.size() / 2, values.size() - 1}) {
      const double w = values[i], h = 1e-5;
      values[i] = w + h;
      const double above = plain_loss(job, parameters);
      values[i] = w - h;
      const double below = plain_loss(job, parameters);
      values[i] = w;
      EXPECT_NEAR(gradient[i], (above - below) / (2 * h), 2e-9) << key.first << ' ' << key.second << ' ' << i;
    }
  }
}

TEST_P(SingleRank, TheLossGoesDown) {
  // A tenth of the tokens is a surprise among 32: ln 32 = 3.47 at first, at best about 0.1 ln 32 + H(0.1} = 0.67.
  const tiny::Run run = tiny::run(job_of(GetParam(), 8), 25);
  EXPECT_GT(run.losses.front(), 3.2);
  EXPECT_LT(run.losses.back(), 0.75 * run.losses.front());
}

INSTANTIATE_TEST_SUITE_P(
    Models, SingleRank,
    testing::Values(Case{tiny::llama()}, Case{tiny::gpt()}, Case{tiny::moe()}, Case{tiny::router_bias()},
                    Case{tiny::sinks()}, Case{tiny::sinks(), 0.1}, Case{windowed()}, Case{chunked()}, Case{chunked(3)},
                    Case{chunked(), 0.1}, Case{chunked(), 0, kMixed}, Case{chunked(3), 0.1, kAround},
                    Case{tiny::alibi()}, Case{tiny::alibi(6)}, Case{tiny::llama(), 0, kMixed},
                    Case{tiny::gpt(), 0.1, kAround}, Case{tiny::alibi(), 0, kAround}, Case{windowed(), 0, kMixed},
                    Case{tiny::latent(), 0, kMixed}, Case{tiny::sinks(), 0, kAround}, Case{tiny::moe(), 0, kMixed},
                    Case{tiny::ahead(tiny::llama(), 1), 0, kMixed}, Case{relu(spec::Activation::relu)},
                    Case{relu(spec::Activation::squared_relu)}, Case{geglu(tiny::llama())}, Case{geglu(tiny::moe())},
                    Case{clamped(tiny::llama())}, Case{clamped(tiny::moe())}, Case{tiny::qk_norm()},
                    Case{tiny::parallel(1)}, Case{tiny::parallel(2)}, Case{tiny::latent()}, Case{tiny::latent(0)},
                    Case{tiny::gpt(), 0.1}, Case{tiny::moe(), 0.25}, Case{tiny::parallel(1), 0.1},
                    Case{tiny::latent(), 0.1}, Case{tiny::ahead(tiny::llama(), 1)}, Case{tiny::ahead(tiny::llama(), 3)},
                    Case{tiny::ahead(tiny::gpt(), 2)}, Case{tiny::ahead(tiny::gpt(), 2), 0.1},
                    Case{tiny::ahead(tiny::moe(), 1)}, Case{tiny::ahead(tiny::latent(), 2)},
                    Case{tiny::ahead(windowed(), 1)}),
    [](const auto& one) {
      std::string name = one.param.model.name + (one.param.dropout > 0 ? " with dropout" : "") +
                         (one.param.packing ? " in documents" : "");
      std::erase(name, ' ');
      return name;
    });

}  // namespace
