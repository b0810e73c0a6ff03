// tests/core/config/search_reader_test.cpp -- the cuts of layers that a search may choose, by name and as a list.
// SPDX-License-Identifier: Apache-2.0
#include "core/config/search_reader.h"

#include <gtest/gtest.h>

#include "core/base/fault.h"

namespace {

using spec::SearchKey;

TEST(SearchReader, CutsOfLayersAreAllowedByName) {
  spec::SearchSpace space;
  config::read_values("stage_layers=even,by_work,light_front", "--allow", space);
  EXPECT_EQ(*space[SearchKey::stage_layers],
            (std::vector<spec::SearchValue>{spec::kEvenLayers, spec::value_of(spec::LayerCut::by_work),
                                            spec::value_of(spec::LayerCut::light_front)}));
}

TEST(SearchReader, TheKeyIsToldHoweverItIsWritten) {
  spec::SearchSpace space;
  EXPECT_EQ(config::read_values("strategy.tp=2,4", "--allow", space), SearchKey::tp);
  EXPECT_EQ(config::read_values("overlap.tp=none", "--fix", space), SearchKey::overlap_tp);
}

TEST(SearchReader, WhatATreeSaysOfAKeyIsFoundWithItsPlace) {
  const config::Value tree =
      config::parse("training: {micro_batch: 2}\nstrategy: {overlap: {tp: none}, pp: null}\n", "j");
  EXPECT_EQ(config::written_at(tree, SearchKey::micro_batch)->text, "2");
  EXPECT_EQ(config::written_at(tree, SearchKey::overlap_tp)->where.line, 2);
  EXPECT_EQ(config::written_at(tree, SearchKey::pp), nullptr);
  EXPECT_EQ(config::written_at(tree, SearchKey::tp), nullptr);
}

TEST(SearchReader, AListOfLayersIsNoCut) {
  spec::SearchSpace space;
  try {
    config::read_values("stage_layers=[3, 4]", "--fix", space);
    FAIL();
  } catch (const base::InputError& error) {
    EXPECT_EQ(error.faults.front().what, "'[3, 4]' is no way to cut layers");
    EXPECT_EQ(error.faults.front().mend,
              "choose among even, by_work, light_front; --set strategy.stage_layers=[...] fixes a list");
  }
}

TEST(SearchReader, RecomputationIsToldWithItsModulesAndItsLayers) {
  spec::SearchSpace space;
  // `selective` by itself means the attention core; modules in another order are the same value
  config::read_values(
      "recompute=none,selective,{kind: selective, modules: [core_attn]},{kind: selective, modules: [mlp, layernorm]},"
      "{kind: selective, modules: [layernorm, mlp]},{kind: full, layers: 4},full,selective_ops",
      "--allow", space);
  std::vector<std::string> texts;
  for (const spec::SearchValue value : *space[SearchKey::recompute]) {
    texts.push_back(spec::value_text(SearchKey::recompute, value));
    spec::Job job;
    config::set_choice("recompute", texts.back(), job);
    EXPECT_EQ(spec::value_of(SearchKey::recompute, job), value) << texts.back();
  }
  EXPECT_EQ(texts, (std::vector<std::string>{"none", "selective", "{kind: selective, modules: [layernorm, mlp]}",
                                             "{kind: full, layers: 4}", "full", "selective_ops"}));
}

TEST(SearchReader, WhatAnAnswerSaysIsReadBack) {
  spec::Job job;
  config::set_choice("pp", "3", job);
  config::set_choice("stage_layers", "[3, 4, 2]", job);
  config::set_choice("micro_batch", "2", job);
  EXPECT_EQ(job.strategy.pp, 3);
  EXPECT_EQ(job.strategy.stage_layers, (std::vector<int>{3, 4, 2}));
  EXPECT_EQ(job.training.micro_batch, 2);
}

}  // namespace
