// SPDX-License-Identifier: Apache-2.0
#include "core/base/near_names.h"

#include <gtest/gtest.h>

namespace base {
namespace {

TEST(Nearest, IsOfferedOnlyWhenItCouldBeMeant) {
  const std::vector<std::string> known{"sequence", "global_batch", "tp"};
  EXPECT_EQ(nearest("sequense", known), "sequence");
  EXPECT_EQ(nearest("globalbatch", known), "global_batch");
  EXPECT_EQ(nearest("temperature", known), std::nullopt);
  EXPECT_EQ(nearest("xy", known), std::nullopt);  // every letter of tp wrong
}

TEST(Nearest, HasAThirdOfItsLettersWrongAtMost) {
  EXPECT_EQ(nearest("sexuenze", {"sequence"}), "sequence");    // 2 of 8
  EXPECT_EQ(nearest("zexuenze", {"sequence"}), std::nullopt);  // 3 of 8
}

TEST(Nearest, OfAShortNameIsOneLetterAway) {
  EXPECT_EQ(nearest("bsh", {"bash", "zsh", "fish"}), "bash");
  EXPECT_EQ(nearest("tcsh", {"bash", "zsh", "fish"}), std::nullopt);  // two of four from each
  EXPECT_EQ(nearest("tpp", {"pp", "tp"}), "tp");                      // which begins alike
}

TEST(Nearest, CountsNeighboursThatChangedPlacesOnce) { EXPECT_EQ(nearest("shwo", {"show", "show-all"}), "show"); }

TEST(Nearest, IsTheNameThatDiffersInNothingButItsSpelling) {
  EXPECT_EQ(nearest("BF16", {"fp16", "bf16"}), "bf16");  // not fp16, one letter away as well
  EXPECT_EQ(nearest("TP", {"pp", "tp"}), "tp");
  EXPECT_EQ(nearest("zb_v", {"zb-h", "zb-v"}), "zb-v");
  EXPECT_EQ(nearest("micro-batch", {"micro_batch", "micro_batches"}), "micro_batch");
}

TEST(Nearest, IsTheShortestThatBeginsSoBeforeAMisspeltOne) {
  const std::vector<std::string> known{"h800", "h100-pcie", "h100-sxm", "h100x"};
  EXPECT_EQ(nearest("h100", known), "h100-sxm");
  EXPECT_EQ(nearest("h80", known), "h800");  // nothing begins with h80-
}

TEST(Nearest, StandsInAFaultsMend) {
  const std::vector<std::string> known{"sequence", "tp"};
  EXPECT_EQ(nearest_or("sequense", known, "known: sequence, tp"), "did you mean sequence?");
  EXPECT_EQ(nearest_or("temperature", known, "known: sequence, tp"), "known: sequence, tp");
  EXPECT_EQ(nearest_and("sequense", known, "known: sequence, tp"), "did you mean sequence? known: sequence, tp");
  EXPECT_EQ(nearest_and("temperature", known, "known: sequence, tp"), "known: sequence, tp");
}

TEST(DidYouMean, NamesHardwareAndModelsByTheirNumbers) {
  const std::vector<std::string> nodes{"a100-pcie-x8", "dgx-b200",    "dgx-h100",    "dgx-h200",
                                       "gb200-nvl72",  "h100-nvl-x8", "hgx-h100-x4", "nd-h100-v5"};
  // distances 4, 6, 7 and 7; twice the least is too far
  EXPECT_EQ(did_you_mean("h100", nodes), "did you mean dgx-h100, nd-h100-v5, h100-nvl-x8 or hgx-h100-x4?");
  EXPECT_EQ(did_you_mean("hgx-h100", nodes), "did you mean dgx-h100?");
  EXPECT_EQ(did_you_mean("DGX-GB200", nodes), "did you mean gb200-nvl72?");  // not dgx-b200, which is nearer by letters
  EXPECT_EQ(did_you_mean("b200", nodes), "did you mean dgx-b200?");
  EXPECT_EQ(did_you_mean("dgx-h20", nodes), "did you mean dgx-h200?");  // no word of another: by letters
  EXPECT_EQ(did_you_mean("cpu", nodes), "");
  const std::vector<std::string> models{"llama2-13b", "llama2-7b", "qwen2.5-7b", "qwen3-4b"};
  EXPECT_EQ(did_you_mean("qwen-7b", models), "did you mean qwen2.5-7b?");
  EXPECT_EQ(did_you_mean("lama2-7b", models), "did you mean llama2-7b?");
  EXPECT_EQ(did_you_mean("Llama-2-7B", {"llama-7b", "llama2-7b", "opt-2.7b"}), "did you mean llama2-7b?");
}

}  // namespace
}  // namespace base
