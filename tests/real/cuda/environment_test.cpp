// tests/real/cuda/environment_test.cpp -- tests real/cuda/environment.h. SPDX-License-Identifier: Apache-2.0
#include "real/cuda/environment.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace {

TEST(Environment, IsChosenWhereNobodyHas) {
  unsetenv("NCCL_GRAPH_REGISTER");
  setenv("CUDA_DEVICE_MAX_CONNECTIONS", "1", 1);
  real::choose_environment();
  EXPECT_STREQ(std::getenv("NCCL_GRAPH_REGISTER"), "0");
  EXPECT_STREQ(std::getenv("CUDA_DEVICE_MAX_CONNECTIONS"), "1");
  unsetenv("CUDA_DEVICE_MAX_CONNECTIONS");
  real::choose_environment();
  EXPECT_STREQ(std::getenv("CUDA_DEVICE_MAX_CONNECTIONS"), "32");
}

}  // namespace
