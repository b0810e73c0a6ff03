// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "tests/cli/run_forerun.h"

namespace {

using testing_support::Answer;
using testing_support::contains;
using testing_support::forerun;

TEST(CommandLine, HelpNamesEverySubcommand) {
  const Answer run = forerun("--help");
  EXPECT_EQ(run.exit_code, 0);
  for (const char* name : {"predict", "list", "show"})
    EXPECT_TRUE(contains(run.out, std::string("\n  ") + name + ' ')) << name;
  EXPECT_EQ(run.err, "");
}

TEST(CommandLine, EverySubcommandHasItsHelp) {
  for (const char* name : {"predict", "list", "show"}) {
    const Answer run = forerun(std::string(name) + " --help");
    EXPECT_EQ(run.exit_code, 0);
    EXPECT_TRUE(contains(run.out, std::string("usage: forerun ") + name)) << run.out;
    EXPECT_EQ(forerun(std::string("help ") + name).out, run.out);
  }
}

TEST(CommandLine, TellsItsVersion) {
  const Answer run = forerun("--version");
  EXPECT_EQ(run.exit_code, 0);
  EXPECT_EQ(run.out.substr(0, 8), "forerun ");
}

TEST(CommandLine, WithoutASubcommandItShowsHelpAndFails) {
  const Answer run = forerun("");
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_EQ(run.out, "");
  EXPECT_TRUE(contains(run.err, "usage: forerun"));
}

TEST(CommandLine, AnUnknownSubcommandOffersTheNearest) {
  const Answer run = forerun("predcit job.yaml");
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_EQ(run.out, "");
  EXPECT_EQ(run.err, "error: predcit: there is no such subcommand\n  mend: did you mean predict?\n");
}

TEST(CommandLine, EveryUnknownOptionOffersTheNearest) {
  const Answer run = forerun("predict --sequenec 4096 --modle=x");
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_EQ(run.err,
            "error: --sequenec: there is no such option\n  mend: did you mean --sequence?\n"
            "error: --modle: there is no such option\n  mend: did you mean --model?\n");
}

std::string mend_of(const std::string& arguments) {
  const std::string err = forerun(arguments).err;
  const std::size_t at = err.find("mend: ");
  return at == err.npos ? err : err.substr(at + 6, err.find('\n', at) - at - 6);
}

TEST(CommandLine, WhatOtherToolsCallAnOption) {
  EXPECT_EQ(mend_of("predict --tensor-parallel 8"), "did you mean --tp?");
  EXPECT_EQ(mend_of("predict --tensor-model-parallel-size 8"), "did you mean --tp?");
  EXPECT_EQ(mend_of("predict --batch-size 64"), "did you mean --global-batch?");
  EXPECT_EQ(mend_of("predict --seq-length 4096"), "did you mean --sequence?");
  EXPECT_EQ(mend_of("predict --seq 4096"), "did you mean --sequence?");
  EXPECT_EQ(mend_of("predict --gpu h100-sxm"), "did you mean --node?");
  EXPECT_EQ(mend_of("predict --fsdp llama3-8b-32xh200"), "--zero 3 is FSDP");
  EXPECT_EQ(mend_of("predict --bf16"), "write --precision bf16");
}

TEST(CommandLine, AKeyOfTheJobWithoutAnOptionIsSet) {
  EXPECT_EQ(mend_of("predict --etp 2"), "write --set strategy.etp=2");
  EXPECT_EQ(mend_of("predict --moe-capacity-factor=1.25"), "write --set strategy.moe_capacity_factor=1.25");
  EXPECT_EQ(mend_of("predict --compile llama3-8b-32xh200"), "write --set strategy.compile=true");
  EXPECT_EQ(mend_of("predict --offload cpu"), "write --set strategy.offload=VALUE");
  EXPECT_EQ(mend_of("predict --fidelity flow"), "write --set network.fidelity=flow");
  EXPECT_EQ(mend_of("predict --algorithm rings"), "write --set network.algorithm=VALUE");
  EXPECT_EQ(mend_of("predict --nccl-algo ring"), "write --set network.algorithm=ring");
  EXPECT_EQ(mend_of("predict --jitter 0.01"), "write --set simulation.jitter=0.01");
  EXPECT_EQ(mend_of("list --etp 2"), "--help shows all options");  // takes no Job
}

TEST(CommandLine, WhatSetLacksIsTold) {
  const std::string mend = "\n  mend: write path=value, such as strategy.tp=8\n";
  EXPECT_EQ(forerun("predict llama3-8b-32xh200 --set =3").err, "error: --set: '=3' names no key" + mend);
  EXPECT_EQ(forerun("predict llama3-8b-32xh200 --set strategy.tp").err,
            "error: --set: 'strategy.tp' has no value" + mend);
}

TEST(CommandLine, AnOptionCalledByItsPathIsNamed) {
  EXPECT_EQ(mend_of("predict --strategy.tp 8"), "did you mean --tp?");
  EXPECT_EQ(mend_of("predict --simulation.unfold"), "did you mean --unfold?");
  EXPECT_EQ(mend_of("predict --network.fidelity flow"), "write --set network.fidelity=flow");
  EXPECT_EQ(mend_of("predict --simulation.jitter=0.01"), "write --set simulation.jitter=0.01");
  EXPECT_EQ(mend_of("predict --network.jitter=0.01"), "--help shows all options");  // it has no such key
}

TEST(CommandLine, ASwitchIsSaidOrLeftOut) {
  EXPECT_EQ(forerun("predict llama3-8b-32xh200 --sp false").err,
            "error: --sp: takes no value\n  mend: leave --sp out, or write --set strategy.sp=false\n");
  EXPECT_EQ(forerun("predict llama3-8b-32xh200 --sp=false").err,
            "error: --sp: takes no value\n  mend: leave --sp out, or write --set strategy.sp=false\n");
  EXPECT_EQ(forerun("predict llama3-8b-32xh200 --sp true").err,
            "error: --sp: takes no value\n  mend: write --sp alone\n");
}

TEST(CommandLine, OptionsAreNeverAbbreviated) {
  // --seq would be --sequence if prefixes counted, and mean something else once another option starts so.
  EXPECT_TRUE(contains(forerun("predict --seq 4096").err, "--seq: there is no such option"));
  EXPECT_TRUE(contains(forerun("list -x").err, "-x: there is no such option"));
}

TEST(CommandLine, AMissingValueIsAFault) {
  const Answer run = forerun("predict --tp");
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_EQ(run.err, "error: --tp: has no value\n  mend: write --tp N\n");
}

TEST(CommandLine, AValueForASwitchIsAFault) {
  const Answer run = forerun("predict --quiet=yes");
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_EQ(run.err, "error: --quiet: takes no value\n  mend: write --quiet alone\n");
}

TEST(CommandLine, AKeyWithoutItsMapOffersTheWholePath) {
  EXPECT_EQ(forerun("predict llama3-8b-32xh200 --set tp=4").err,
            "error: --set: there is no field 'tp'\n  mend: did you mean strategy.tp?\n");
  EXPECT_EQ(forerun("compare llama3-8b-32xh200 --vary micro_batch=1,2").err,
            "error: --vary: there is no field 'micro_batch'\n  mend: did you mean training.micro_batch?\n");
}

TEST(CommandLine, AnOptionTwiceIsAFault) {
  const Answer run = forerun("predict --json a --json b");
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_TRUE(contains(run.err, "error: --json: is given twice")) << run.err;
}

TEST(CommandLine, OfAFieldsFlagTheLastCounts) {
  // So that what would make a job fit may be pasted behind a command that says something else of it.
  const std::string job = "predict llama3-8b-32xh200 --json - ";
  EXPECT_EQ(forerun(job + "--tp 4 --sp --tp 2 --sp").out, forerun(job + "--tp 2 --sp").out);
}

TEST(CommandLine, AnOptionIsNoValueOfAnother) {
  const Answer run = forerun("predict --json --quiet llama3-8b-32xh200");
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_TRUE(contains(run.err, "error: --json: has no value: --quiet behind it is an option")) << run.err;
}

TEST(CommandLine, NanIsNoNumber) {
  const Answer run = forerun("scale llama3-8b-32xh200 --gpus 8..64 --efficiency nan --kind strong");
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_TRUE(contains(run.err, "'nan' is no number from 0 to 1\n  mend: write --efficiency 0.8\n")) << run.err;
}

TEST(CommandLine, AnOperandTooManyIsAFault) {
  const Answer run = forerun("list models nodes");
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_TRUE(contains(run.err, "'nodes' is one operand too many")) << run.err;
}

TEST(CommandLine, ASecondValueOfAnOptionNeedsTheOptionAgain) {
  const Answer run = forerun("predict llama3-8b-32xh200 --set strategy.tp=4 strategy.zero=1");
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_TRUE(contains(run.err, "mend: write the option in front of each: --set a=1 --set b=2")) << run.err;
}

TEST(CommandLine, AFullDiskIsNoticed) {
  const Answer run = forerun("list models >/dev/full");
  EXPECT_EQ(run.exit_code, 2);
  EXPECT_TRUE(contains(run.err, "cannot write")) << run.err;
}

}  // namespace
