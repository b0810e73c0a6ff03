// tests/core/spec/layer_list_test.cpp -- shapes and counts of operators, and published figures of whole networks.
// SPDX-License-Identifier: Apache-2.0
#include "core/spec/layer_list.h"

#include <gtest/gtest.h>

#include "core/config/model_reader.h"

namespace {

using spec::Layer;
using Type = spec::Layer::Type;

std::vector<Layer> entry(const std::string& name) {
  config::Faults faults;
  const std::string path = std::string(FORERUN_SOURCE_DIR) + "/workloads/models/" + name + ".yaml";
  const spec::Model model = config::read_model(config::load(path), "", faults);
  for (const base::Fault& fault : faults) ADD_FAILURE() << base::to_string(fault);
  return model.list;
}

TEST(LayerList, AConvolutionByHand) {
  // 7x7 over 3 channels of 224, stride 2, padding 3: 112 positions a side, 64 x 3 x 49 weights.
  const Layer conv{
      .name = "", .type = Type::convolution, .in = 3, .out = 64, .size = 224, .kernel = 7, .stride = 2, .padding = 3};
  EXPECT_EQ(conv.out_size(), 112);
  EXPECT_EQ(conv.parameters(), 9408);
  EXPECT_DOUBLE_EQ(conv.multiply_adds(), 112.0 * 112 * 9408);
  Layer depthwise{
      .name = "", .type = Type::convolution, .in = 32, .out = 32, .size = 8, .kernel = 3, .padding = 1, .groups = 32};
  depthwise.bias = true;
  EXPECT_EQ(depthwise.parameters(), 32 * 9 + 32);
  EXPECT_DOUBLE_EQ(depthwise.multiply_adds(), 64.0 * 32 * 9);
}

TEST(LayerList, ResNet50HasThePublishedParametersAndMultiplyAdds) {
  // torchvision's table: 25,557,032 parameters, 4.09 GFLOPS (multiply-adds) at 224 x 224.
  const spec::LayerListTotals count = spec::totals(entry("resnet50"));
  EXPECT_EQ(count.dense_parameters, 25'557'032);
  EXPECT_EQ(count.table_parameters, 0);
  EXPECT_NEAR(count.multiply_adds / 1e9, 4.09, 0.005);
}

TEST(LayerList, TheCifarUNetHasThePublishedParameters) {
  // "35.7 million parameters" (Ho et al., appendix B).
  EXPECT_NEAR(static_cast<double>(spec::totals(entry("ddpm-unet-cifar10")).dense_parameters) / 1e6, 35.7, 0.05);
}

TEST(LayerList, DlrmsTablesHaveThePublishedRows) {
  // 26 tables of 204,184,588 rows together (mlcommons/training), 128 wide. Layers 13-512-256-128 and 479-1024-1024-512-
  // 256-1, where 479 = 128 + 27 x 26 / 2 products.
  const spec::LayerListTotals count = spec::totals(entry("dlrm-mlperf"));
  EXPECT_EQ(count.table_parameters, std::int64_t{204'184'588} * 128);
  const std::int64_t bottom = 13 * 512 + 512 + 512 * 256 + 256 + 256 * 128 + 128;
  const std::int64_t top = 479 * 1024 + 1024 + 1024 * 1024 + 1024 + 1024 * 512 + 512 + 512 * 256 + 256 + 256 + 1;
  EXPECT_EQ(count.dense_parameters, bottom + top);
}

}  // namespace
