// tests/cli/export_test.cpp -- export and import as a user meets them.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/cli/run_forerun.h"

namespace {

using namespace testing_support;

const std::string kJob = std::string(FORERUN_SOURCE_DIR) + "/workloads/jobs/llama3-70b-64xh100.yaml";
bool contains(const std::string& text, const std::string& part) { return text.find(part) != text.npos; }

TEST(ExportCommand, TheMainJobGoesToMegatronAndComesBackWithTheSameStep) {
  const ScratchFolder folder;
  const Answer out = forerun("export " + kJob + " --to megatron -o " + (folder / "launch"));
  ASSERT_EQ(out.exit_code, 0) << out.err;
  const std::string script = folder / "launch/train.sh";
  EXPECT_EQ(out.out, "wrote " + script + "\n");
  EXPECT_NE(std::filesystem::status(script).permissions() & std::filesystem::perms::owner_exec,
            std::filesystem::perms::none);

  const Answer in =
      forerun("import megatron " + script + " --node dgx-h100 --fabric rail-400g -o " + (folder / "back.yaml"));
  ASSERT_EQ(in.exit_code, 0) << in.err;
  const auto step_of = [](const Answer& answer) { return answer.out.substr(answer.out.find("Step time"), 40); };
  EXPECT_EQ(step_of(forerun("predict " + (folder / "back.yaml"))), step_of(forerun("predict " + kJob)));
}

TEST(ExportCommand, FilesThatAreThereStayUnlessTheyMayBeReplaced) {
  const ScratchFolder folder;
  const std::string command = "export " + kJob + " --to megatron -o " + (folder / "launch");
  ASSERT_EQ(forerun(command).exit_code, 0);
  const std::string script = folder / "launch/train.sh";
  std::ofstream(script) << "mine";
  const Answer again = forerun(command);
  EXPECT_EQ(again.exit_code, 2);
  EXPECT_EQ(again.err, "error: -o: " + script + " is there already\n  mend: name another folder, or add --overwrite\n");
  EXPECT_EQ(content_of(script), "mine");
  EXPECT_EQ(forerun(command + " --overwrite").exit_code, 0);
  EXPECT_NE(content_of(script), "mine");
}

TEST(ImportCommand, WhatIsReadIsNotReplaced) {
  const ScratchFolder folder;
  const std::string config = folder / "config.json";
  std::filesystem::copy_file(std::string(FORERUN_SOURCE_DIR) + "/tests/data/huggingface/gpt2.json", config);
  const Answer out = forerun("import huggingface " + config + " --node dgx-h100 --sequence 512 --global-batch 8 -o " +
                             (folder / "./config.json"));
  EXPECT_EQ(out.exit_code, 2);
  EXPECT_EQ(out.err, "error: -o: " + config + " is what is read\n  mend: name another file\n");
  EXPECT_TRUE(contains(content_of(config), "\"model_type\""));
}

TEST(ImportCommand, AKeyThatTheFileLeavesOutIsGivenByAFlag) {
  const ScratchFolder folder;
  const std::string script = folder / "train.sh";
  std::ofstream(script) << "--num-layers 2 --hidden-size 1024 --num-attention-heads 8 --seq-length 1024 --bf16 "
                           "--global-batch-size 8 --micro-batch-size 1 --max-position-embeddings 1024\n";
  const std::string command = "import megatron " + script + " --node dgx-h100";
  EXPECT_EQ(forerun(command).err, "error: model.vocab: is missing\n  mend: add --set model.vocab=N\n");
  EXPECT_EQ(forerun(command + " --set model.vocab=50304").exit_code, 0);
}

TEST(ImportCommand, AnOptionIsIgnoredByItsNameWithDashesOrWithout) {
  const ScratchFolder folder;
  const std::string script = folder / "train.sh";
  std::ofstream(script) << "--num-layers 2 --hidden-size 1024 --num-attention-heads 8 --seq-length 1024 --bf16 "
                           "--global-batch-size 8 --micro-batch-size 1 --max-position-embeddings 1024 --mystery-flag\n";
  const std::string command = "import megatron " + script + " --node dgx-h100 --set model.vocab=50304";
  EXPECT_EQ(forerun(command).exit_code, 2);
  EXPECT_EQ(forerun(command + " --ignore mystery-flag").exit_code, 0);
  EXPECT_EQ(forerun(command + " --ignore --mystery-flag").exit_code, 0);
}

TEST(ExportCommand, AWinnerOfASearchIsSaidByFlags) {
  const Answer out = forerun("export " + kJob +
                             " --to accelerate-fsdp --tp 1 --pp 1 --vpp 1 --schedule 1f1b --dp 64 --zero 3 --recompute "
                             "full --set strategy.sp=false");
  ASSERT_EQ(out.exit_code, 0) << out.err;
  EXPECT_TRUE(contains(out.out, "num_processes: 64\n") && contains(out.out, "fsdp_activation_checkpointing: true\n"))
      << out.out;
  EXPECT_TRUE(contains(out.err, "note: defaults are those of framework: torch, not of megatron"));
}

TEST(ExportCommand, SeveralFilesOnStdoutHaveTheirNames) {
  const Answer out = forerun("export " + kJob + " --to slurm");
  EXPECT_TRUE(out.out.starts_with("==> job.sbatch <==\n") && contains(out.out, "\n==> train.sh <==\n")) << out.out;
}

TEST(ExportCommand, WhatIsMissingOrRefusedIsToldOnStderrAlone) {
  const Answer none = forerun("export " + kJob);
  EXPECT_EQ(none.exit_code, 2);
  EXPECT_TRUE(contains(none.err, "--to: is missing"));
  const Answer refused = forerun("export " + kJob + " --to torchtitan");
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_EQ(refused.out, "");
  EXPECT_TRUE(contains(refused.err, "llama3-70b-64xh100.yaml:29:9: error: strategy.zero: torchtitan cannot say '1'"))
      << refused.err;
}

TEST(ImportCommand, AModelByItselfNeedsTheRest) {
  const std::string config = std::string(FORERUN_SOURCE_DIR) + "/tests/data/huggingface/bloom-176b.json";
  const Answer out = forerun("import huggingface " + config + " --node dgx-h100 --sequence 2048 --global-batch 64");
  ASSERT_EQ(out.exit_code, 0) << out.err;
  EXPECT_TRUE(contains(out.out, "model: bloom-176b\n")) << out.out;
  const Answer lacking = forerun("import huggingface " + config);
  EXPECT_EQ(lacking.exit_code, 2);
  EXPECT_TRUE(contains(lacking.err, "mend: add --node NAME") && contains(lacking.err, "mend: add --sequence TOKENS"))
      << lacking.err;
  EXPECT_TRUE(contains(forerun("import megatrom x").err, "'megatrom' cannot be imported"));
}

}  // namespace
