// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/cli/run_forerun.h"

namespace {

using nlohmann::json;
using testing_support::Answer;
using testing_support::contains;
using testing_support::forerun;
using testing_support::ScratchFolder;

json shown(const std::string& name) { return json::parse(forerun("show " + name + " --json -").out); }

TEST(Show, AModelCountsItsParametersByPart) {
  // Llama 3 70B: embedding and head 128256 x 8192 each; 70,553,706,496 in all, as published.
  const Answer run = forerun("show llama3-70b");
  EXPECT_EQ(run.exit_code, 0) << run.err;
  EXPECT_TRUE(contains(run.out, "70,553,706,496")) << run.out;
  const json parameters = shown("llama3-70b")["parameters"];
  EXPECT_EQ(parameters["embedding"], 1050673152);
  std::int64_t sum = 0;
  for (const auto& [part, count] : parameters.items()) sum += part == "total" ? 0 : count.get<std::int64_t>();
  EXPECT_EQ(sum, 70553706496);
  EXPECT_EQ(parameters["total"], 70553706496);
}

TEST(Show, AHuggingFaceConfigIsAModelToo) {
  // One block of hidden 8, ffn 16, 2 heads: attention 4 x 64, feed-forward 3 x 128, two norms of 8; embedding and head
  // 100 x 8 each, final norm 8: 2264 in all.
  const ScratchFolder folder;
  std::ofstream(folder / "config.json") << R"({"model_type": "llama", "architectures": ["LlamaForCausalLM"],
      "hidden_size": 8, "intermediate_size": 16, "num_attention_heads": 2, "num_key_value_heads": 2,
      "num_hidden_layers": 1, "vocab_size": 100, "max_position_embeddings": 64, "tie_word_embeddings": false,
      "hidden_act": "silu"})";
  const Answer run = forerun("show " + (folder / "config.json") + " --json -");
  ASSERT_EQ(run.exit_code, 0) << run.err;
  EXPECT_EQ(json::parse(run.out)["parameters"]["total"], 4 * 64 + 3 * 128 + 2 * 8 + 2 * 800 + 8);
  EXPECT_EQ(shown(folder / "./config.json")["values"]["name"], "llama");  // a folder called "." is no name
}

TEST(Show, AFileIsOfTheKindOfItsBase) {
  const ScratchFolder folder;
  const auto kind_of = [&](const std::string& text) {
    std::ofstream(folder / "mine.yaml") << text;
    const Answer run = forerun("show " + (folder / "mine.yaml") + " --json -");
    return run.exit_code == 0 ? json::parse(run.out)["kind"].get<std::string>() : run.err;
  };
  EXPECT_EQ(kind_of("base: dgx-h100\nnic: {bandwidth: 200Gb/s, count: 8, kind: infiniband}\n"), "node");
  EXPECT_EQ(kind_of("base: h100-sxm\nmemory: 94GB\n"), "gpu");
  EXPECT_EQ(kind_of("base: llama3-8b\nlayers: 16\n"), "model");
  EXPECT_EQ(kind_of("base: rail-400g\noversubscription: 2\n"), "fabric");
  std::filesystem::copy_file(std::string(FORERUN_SOURCE_DIR) + "/topologies/fabrics/rail-400g.yaml",
                             folder / "copy.yaml");
  EXPECT_EQ(shown(folder / "copy.yaml")["kind"], "fabric");
  std::filesystem::create_directory(folder / "sub");
  std::ofstream(folder / "sub/near.yaml") << "base: dgx-h100\npower: 11kW\n";
  std::ofstream(folder / "sub/far.yaml") << "base: near.yaml\npower: 12kW\n";
  EXPECT_EQ(shown(folder / "sub/far.yaml")["kind"], "node");
  EXPECT_EQ(kind_of("base: {base: h100-sxm, memory: 94GB}\n"), "gpu");
  EXPECT_TRUE(contains(kind_of("base: no-such\n"), "is no model, job, node, GPU or fabric"));
  EXPECT_TRUE(contains(kind_of("base: mine.yaml\n"), "is its own base"));
}

TEST(Show, ADefaultOfAModelSaysThatItIsOne) {
  const Answer run = forerun("show llama3-70b");
  EXPECT_TRUE(contains(run.out, "  hidden: 8192\n"));                   // written in the file
  EXPECT_TRUE(contains(run.out, "  mtp: 0   # default\n")) << run.out;  // not written there
}

TEST(Show, ANodeShowsItsGpusValues) {
  const json values = shown("dgx-h100")["values"];
  EXPECT_EQ(values["gpus"], 8);
  EXPECT_TRUE(values["gpu"].is_object());  // the file has only the GPU's name
  EXPECT_EQ(values["gpu"]["sms"], 132);
}

TEST(Show, WhatAnotherFileSaysTellsItsPlaceOnce) {
  const Answer run = forerun("show dgx-h100");
  const std::size_t first = run.out.find("/gpus/h100-sxm.yaml");
  EXPECT_NE(first, run.out.npos) << run.out;
  EXPECT_EQ(run.out.find("/gpus/h100-sxm.yaml", first + 1), run.out.npos) << run.out;
}

TEST(Show, AKindBeforeTheNameChoosesTheEntry) {
  EXPECT_EQ(shown("gpus/h100-sxm")["kind"], "gpu");
  EXPECT_EQ(shown("gpu/h100-sxm")["kind"], "gpu");
}

TEST(Show, AnUnknownNameOffersTheNearest) {
  const Answer run = forerun("show llama3-70");
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_EQ(run.out, "");
  EXPECT_TRUE(
      contains(run.err, "error: NAME: there is no entry and no file 'llama3-70'\n  mend: did you mean llama3-70b?"))
      << run.err;
}

TEST(Show, AKindBeforeAnUnknownNameHidesNoNearOne) {
  const Answer run = forerun("show models/llama3-70");
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_TRUE(contains(run.err, "'models/llama3-70'\n  mend: did you mean llama3-70b?")) << run.err;
}

TEST(Show, WithoutANameIsAFault) { EXPECT_EQ(forerun("show").exit_code, 2); }

TEST(Show, EveryCatalogueEntryCanBeShown) {
  const json all = json::parse(forerun("list --json -").out);
  for (const auto& [kind, names] : all.items()) {
    if (kind == "schema") continue;
    for (const auto& name : names) {
      const Answer run = forerun("show " + kind + "/" + name.get<std::string>());
      EXPECT_EQ(run.exit_code, 0) << kind << '/' << name << ": " << run.err;
    }
  }
}

}  // namespace
