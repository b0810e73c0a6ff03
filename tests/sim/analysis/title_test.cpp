// SPDX-License-Identifier: Apache-2.0
#include "sim/analysis/title.h"

#include <gtest/gtest.h>

#include "tests/support/toy.h"

namespace {

TEST(Title, TellsTheDegreesThatAreMoreThanOne) {
  EXPECT_EQ(sim::title(toy::job({.tp = 2, .pp = 2, .dp = 2})).substr(0, 18), "toy on 1 x toy (8 ");
  const std::string plain = sim::title(toy::job({.tp = 2, .pp = 2, .dp = 2, .zero = 1}));
  EXPECT_NE(plain.find(": tp 2, pp 2, dp 2, zero 1, framework none, batch "), plain.npos) << plain;
}

TEST(Title, NamesWhatIsUnusual) {
  spec::Job j = toy::job({.tp = 2, .pp = 2, .dp = 4, .zero = 1});
  j.strategy.schedule = spec::Schedule::zb_h1;
  j.strategy.shard = 2;
  j.strategy.ep = 4;
  j.strategy.lora = spec::Lora{.rank = 16};
  j.training.precision = spec::Dtype::fp8;
  const std::string text = sim::title(j);
  EXPECT_NE(text.find("pp 2 zb-h1, ep 4, dp 4, zero 1 in groups of 2, lora 16, fp8, framework none, batch "), text.npos)
      << text;
}

TEST(Title, TellsOneJobFromAnother) {
  const std::string text = sim::title(toy::job({.dp = 2}, [](spec::Job& j) {
    j.strategy.recompute = {spec::Recompute::Kind::full, 0};
    j.training.precision = spec::Dtype::fp16;
    j.framework.name = "deepspeed";
    j.training.micro_batch = 4;
    j.training.global_batch = 16;
    j.training.sequence = 128;
  }));
  EXPECT_TRUE(text.ends_with("zero 0, recompute full, fp16, framework deepspeed, batch 16 x 128, micro-batch 4"))
      << text;
}

TEST(Title, TellsWhatMovesMemoryFromItsKind) {
  spec::Job j = toy::job({.dp = 2});
  j.strategy.recompute = {spec::Recompute::Kind::full, 4};
  j.strategy.lora = spec::Lora{.rank = 16, .base = spec::LoraBase::nf4};
  j.strategy.offload = {
      .optimizer = spec::Offload::To::cpu, .parameters = spec::Offload::To::nvme, .activations = true};
  const std::string text = sim::title(j);
  EXPECT_NE(
      text.find(", lora 16 on nf4, recompute full of 4 layers, offload optimizer, parameters to nvme, activations, "),
      text.npos)
      << text;
  j.strategy.recompute.layers = 1;
  EXPECT_NE(sim::title(j).find(", recompute full of 1 layer, "), text.npos);
}

TEST(Title, OfServingNamesTheModeAndNoShards) {
  const std::string text = sim::title(toy::job({.dp = 2}, [](spec::Job& j) { j.training.mode = spec::Mode::prefill; }));
  EXPECT_EQ(text.find("zero"), text.npos) << text;
  EXPECT_TRUE(text.ends_with(", prefill")) << text;
}

}  // namespace
