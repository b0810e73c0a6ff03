// tests/gpu/deviceless/accepted_test.cpp -- does cuDNN know our graphs as attention? It plans for GPUs that are not
// here from their description, and only wants a libcuda.so.1 to load. SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <string>

#include "kernels/vendor/attention.h"
#include "kernels/vendor/attention_graph.h"

namespace {

using kernels::Attention;
using kernels::vendor::Pass;

struct Gpu {
  const char* name;
  int capability, sms, shared_bytes, l2_bytes, memory_mhz, clock_mhz;
  long long memory_bytes;
};

// From NVIDIA's data sheets and the CUDA programming guide's table of compute capabilities.
const Gpu kGpus[] = {
    {"NVIDIA A100-SXM4-80GB", 800, 108, 166912, 41943040, 1593, 1410, 85899345920},
    {"NVIDIA H100 80GB HBM3", 900, 132, 232448, 52428800, 2619, 1980, 85899345920},
    {"NVIDIA B200", 1000, 148, 232448, 132644864, 3996, 1965, 192000000000},
};

/// In the keys of cuDNN's own description of a device.
std::string json(const Gpu& gpu) {
  const auto field = [](const char* key, long long value) {
    return ",\"" + std::string(key) + "\":" + std::to_string(value);
  };
  return "{\"deviceName\":\"" + std::string(gpu.name) + "\"" + field("cudaDeviceId", 0) +
         field("deviceVer", gpu.capability) + field("driverVer", 13000) + field("isTccDriver", 0) +
         field("l2CacheSize", gpu.l2_bytes) + field("maxCtasPerSM", 32) + field("maxRegistersPerSM", 65536) +
         field("maxSharedMemoryPerBlock", 49152) + field("maxSharedMemoryPerBlockOptin", gpu.shared_bytes) +
         field("maxThreadsPerBlock", 1024) + field("maxThreadsPerSM", 2048) +
         field("memClockRateKHz", 1000LL * gpu.memory_mhz) + field("multiProcessorCount", gpu.sms) +
         field("pciDeviceId", 0) + field("regsPerBlock", 65536) + field("reservedSharedMemoryPerBlock", 1024) +
         field("smClockRateKHz", 1000LL * gpu.clock_mhz) + field("supportCoopLaunch", 1) +
         field("totalGlobalMem", gpu.memory_bytes) + field("warpSize", 32) +
         ",\"maxGridSize\":[2147483647,65535,65535],\"maxBlockSize\":[1024,1024,64]}";
}

struct Shape {
  const char* name;
  Attention attention;
};
const Shape kShapes[] = {
    {"llama_8b", {1, 4096, 4096, 32, 8, 128, 128, 0.088, true}},
    {"llama_7b", {2, 2048, 2048, 32, 32, 128, 128, 0.088, true}},
    {"gpt_head_64", {4, 1024, 1024, 16, 16, 64, 64, 0.125, true}},
    {"one_kv_head", {1, 8192, 8192, 8, 1, 128, 128, 0.088, true}},
    {"whole_blocks_of_ring_attention", {1, 2048, 2048, 32, 8, 128, 128, 0.088, false}},
    {"fewer_queries_than_keys", {1, 1024, 4096, 32, 8, 128, 128, 0.088, false}},
    {"tiny_of_training_tests", {1, 16, 16, 4, 2, 16, 16, 0.25, true}},
    {"document_of_9", {1, 9, 9, 4, 2, 16, 16, 0.25, true}},
    {"document_of_5", {1, 5, 5, 4, 2, 16, 16, 0.25, true}},
    {"document_of_2", {1, 2, 2, 4, 2, 16, 16, 0.25, true}},
    {"document_of_1", {1, 1, 1, 4, 2, 16, 16, 0.25, true}},
};

class CudnnAccepts : public testing::TestWithParam<std::tuple<Gpu, Shape>> {};

TEST_P(CudnnAccepts, OurForwardAndBackward) {
  const auto& [gpu, shape] = GetParam();
  EXPECT_GT(kernels::vendor::accepted_configurations(shape.attention, Pass::forward, json(gpu)), 0);
  EXPECT_GT(kernels::vendor::accepted_configurations(shape.attention, Pass::backward, json(gpu)), 0);
}

INSTANTIATE_TEST_SUITE_P(Models, CudnnAccepts, testing::Combine(testing::ValuesIn(kGpus), testing::ValuesIn(kShapes)),
                         [](const auto& info) {
                           return "sm" + std::to_string(std::get<0>(info.param).capability / 10) + "_" +
                                  std::get<1>(info.param).name;
                         });

TEST(CudnnAttentionGraph, HeadsOf192AreTrainedFromHopperOn) {
  // Latent attention: 192 elements of keys, 128 of values. cuDNN's backward for Ampere ends at 128, its forward does
  // not.
  const Attention latent{1, 2048, 2048, 16, 16, 192, 128, 0.072, true};
  for (const Gpu& gpu : kGpus) {
    EXPECT_GT(kernels::vendor::accepted_configurations(latent, Pass::forward, json(gpu)), 0) << gpu.name;
    EXPECT_EQ(kernels::vendor::accepted_configurations(latent, Pass::backward, json(gpu)) > 0, gpu.capability >= 900)
        << gpu.name;
  }
}

TEST(CudnnAttentionGraph, RefusesByNameWhatItDoesNotHave) {
  Attention a{1, 64, 64, 2, 2, 64, 64, 0.125, true, 1};
  EXPECT_THROW(kernels::vendor::accepted_configurations(a, Pass::forward, json(kGpus[1])), kernels::DeviceError);
  a.offset = 0;
  a.window = 16;
  EXPECT_THROW(kernels::vendor::accepted_configurations(a, Pass::forward, json(kGpus[1])), kernels::DeviceError);
}

// The library asks before it looks for a plan of the same sides: a zigzag ring has blocks with and without an offset.
TEST(CudnnAttentionGraph, TellsWhatItDoesNotHaveWithoutADevice) {
  const Attention plain{1, 64, 64, 2, 2, 64, 64, 0.125, true};
  EXPECT_NO_THROW(kernels::vendor::check_attention(plain));
  Attention ahead = plain, near = plain, dropped = plain, leaning = plain;
  ahead.offset = 64;
  near.window = 16;
  dropped.dropout.probability = 0.1;
  leaning.alibi.heads = 2;
  for (const Attention& a : {ahead, near, dropped, leaning}) {
    EXPECT_THROW(kernels::vendor::check_attention(a), kernels::DeviceError);
  }
  ahead.causal = false;  // all keys are seen, wherever the queries stand
  EXPECT_NO_THROW(kernels::vendor::check_attention(ahead));
}

}  // namespace
