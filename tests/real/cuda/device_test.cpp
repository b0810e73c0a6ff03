// tests/real/cuda/device_test.cpp -- what is said where no GPU can be used, and what needs one.
// SPDX-License-Identifier: Apache-2.0
#include "real/cuda/device.h"

#include <cuda_runtime.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "real/cuda/nvml.h"
#include "real/cuda/pool.h"

namespace {

using testing::HasSubstr;

TEST(Device, SaysWhatIsMissing) {
  EXPECT_EQ(real::why_no_gpu(cudaSuccess, 2, 13000, 13000), "");
  EXPECT_EQ(real::why_no_gpu(cudaErrorInsufficientDriver, 0, 0, 13000),
            "no GPU can be used here: no NVIDIA driver is loaded");
  EXPECT_EQ(real::why_no_gpu(cudaErrorInsufficientDriver, 0, 12040, 13000),
            "no GPU can be used here: the driver knows CUDA up to 12.4 and this build needs 13.0; update the driver");
  EXPECT_THAT(real::why_no_gpu(cudaErrorNoDevice, 0, 13000, 13000), HasSubstr("the driver sees no card"));
  EXPECT_THAT(real::why_no_gpu(cudaSuccess, 0, 13000, 13000), HasSubstr("the driver sees no card"));
  EXPECT_THAT(real::why_no_gpu(cudaErrorStubLibrary, 0, 13000, 13000), HasSubstr("stub"));
}

TEST(Nvml, WordsForWhatSlowsTheClocks) {
  EXPECT_THAT(real::clock_event_reasons(0x4 | 0x20), testing::ElementsAre("power limit", "heat"));
  EXPECT_THAT(real::clock_event_reasons(0x1), testing::IsEmpty());  // idle slows nothing
}

TEST(Nvml, SaysThatItsLibraryIsMissing) {
  try {
    real::Nvml("libnvidia-ml-of-nowhere.so");
    FAIL() << "loaded";
  } catch (const base::DeviceError& error) {
    EXPECT_THAT(error.what(), HasSubstr("NVML cannot be loaded: libnvidia-ml-of-nowhere.so"));
  }
}

TEST(Pool, WhatDoesNotFitSaysWhatIsTakenAndWhatIsGivenBackIsNot) {
  try {
    real::device_count();
  } catch (const real::NoGpu& none) {
    GTEST_SKIP() << none.what();
  }
  real::Pool pool(0);
  const real::Stream stream;
  const auto kept = pool.take(plan::Category::parameters, 1 << 20, stream);
  { const auto gone = pool.take(plan::Category::activations, 1 << 20, stream); }
  EXPECT_EQ(pool.ledger().total(), 1 << 20);
  EXPECT_EQ(pool.ledger().peak(), 2 << 20);
  try {
    pool.take(plan::Category::logits, std::int64_t{1} << 50, stream);
    FAIL() << "a petabyte fits";
  } catch (const base::DeviceError& error) {
    EXPECT_THAT(error.what(), HasSubstr("(logits) do not fit on GPU 0"));
    EXPECT_THAT(error.what(), HasSubstr("parameters 1.05 MB"));
  }
}

}  // namespace
