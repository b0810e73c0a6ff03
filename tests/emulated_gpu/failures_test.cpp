// tests/emulated_gpu/failures_test.cpp -- what users are told when memory, a GPU or a rank fails while real mode
// trains. SPDX-License-Identifier: Apache-2.0
#include "core/base/fault.h"
#include "tests/emulated_gpu/device.h"
#include "tests/gpu/training/near.h"

namespace {

using gpus::job_of;

std::string what_fails(const spec::Job& job, const gpus::Training& training) {
  try {
    gpus::train(job, training);
  } catch (const base::DeviceError& error) {
    return error.what();
  }
  return "";
}

TEST(Failures, OfMemorySayWhatTookIt) {
  const spec::Job job = job_of(tiny::llama(), {"", {}});
  emulated_gpu::Device::at(0).set_memory((32 << 20) + (1300 << 10));  // beside cuBLASLt's 32 MiB
  const std::string said = what_fails(job, {});
  emulated_gpu::Device::at(0).set_memory(std::size_t{80} << 30);
  EXPECT_THAT(said,
              testing::MatchesRegex("rank 0: .* more \\(.*\\) do not fit on GPU 0 of .*; taken are .*parameters.*\n"));
}

TEST(Failures, OfAGpuEndAllRanksAndNameIt) {
  const spec::Job job = job_of(tiny::llama(), {"", {.dp = 2, .zero = 3}});
  const auto breaks = [](int rank, int step) {
    if (rank == 1 && step == 1) emulated_gpu::Device::at(1).fail("an uncorrectable error");
  };
  for (const unsigned seed : {0u, 1u, 2u, 3u}) {
    const std::string said = what_fails(job, {.seed = seed, .before_step = breaks});
    EXPECT_THAT(said, testing::HasSubstr("rank 1: "));
    EXPECT_THAT(said, testing::HasSubstr("an uncorrectable error"));
    EXPECT_THAT(said, testing::ContainsRegex("rank 0: .*rank 1 gave up"));
  }
}

TEST(Failures, OfARankEndTheOthers) {
  const spec::Job job = job_of(tiny::llama(), {"", {.tp = 2, .sp = true}});
  const auto leaves = [](int rank, int step) {
    if (rank == 1 && step == 1) throw base::DeviceError("has had enough");
  };
  for (const unsigned seed : {0u, 1u, 2u, 3u}) {
    const std::string said = what_fails(job, {.seed = seed, .before_step = leaves});
    EXPECT_THAT(said, testing::HasSubstr("rank 1: has had enough"));
    EXPECT_THAT(said, testing::ContainsRegex("rank 0: .*rank 1 gave up: has had enough"));
  }
}

}  // namespace
