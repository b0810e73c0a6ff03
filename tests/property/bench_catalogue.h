// tests/property/bench_catalogue.h -- small models of every kind on small nodes of every kind, under the real
// frameworks. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <fstream>
#include <iterator>
#include <string>

#include "tests/core/config/small_catalogue.h"

namespace bench_catalogue {

inline constexpr std::array kModels{"gqa", "gpt", "experts", "latent", "windowed", "encoder", "convolutions"};
inline constexpr std::array kNodes{"wide-8", "rack-4", "pcie-8"};

inline void add_models(const config::testing::SmallCatalogue& c) {
  const auto model = [&](const std::string& name, const std::string& rest) {
    c.add("workloads/models/" + name + ".yaml",
          "{name: " + name + ", layers: 8, hidden: 256, heads: 8, head_dim: 32, vocab: 1001, " + rest + "}\n");
  };
  model("gqa", "kv_heads: 4, ffn: 704, gated_mlp: true, norm: rmsnorm");
  model("gpt", "kv_heads: 8, ffn: 1024, tied_embeddings: true, position: learned, max_positions: 512, bias: true");
  model("experts", "kv_heads: 4, ffn: 512, gated_mlp: true, moe: {experts: 8, top_k: 2, ffn: 512}, qk_norm: true");
  model("latent",
        "kv_heads: 8, ffn: 1024, gated_mlp: true, mtp: 1, moe: {experts: 8, top_k: 3, ffn: 128, shared_experts: 1, "
        "shared_ffn: 128, first_dense: 1}, mla: {q_lora_rank: 96, kv_lora_rank: 64, rope_head_dim: 16, nope_head_dim: "
        "32, value_head_dim: 32}");
  model("windowed", "kv_heads: 2, ffn: 1024, window: 64, window_every: 2, parallel_block: true, norms_in_parallel: 1");
  model("encoder",
        "kv_heads: 8, ffn: 1024, causal: false, position: learned, max_positions: 512, embedding_norm: true");
  c.add("workloads/models/convolutions.yaml",
        "{name: convolutions, kind: layers, input: {channels: 3, size: 32}, operators: [{name: stem.conv, type: "
        "convolution, in: 3, out: 16, kernel: 3, padding: 1, size: 32},\n"
        " {name: stem.norm, type: batchnorm, channels: 16, size: 32, relu: true}, {name: fc, type: dense, in: 16384, "
        "out: 10, "
        "bias: true}]}\n");
}

inline void add_nodes(const config::testing::SmallCatalogue& c) {
  c.add(
      "topologies/gpus/wide.yaml",
      "{name: wide, generation: blackwell, sms: 140, clock: 1.5GHz, memory: 180GB, hbm: 8TB/s, l2: 120MB, power: 1kW,\n"
      " peak: {fp32: 70TFLOP/s, tf32: 1PFLOP/s, fp16: 2PFLOP/s, bf16: 2PFLOP/s, fp8: 4PFLOP/s, mxfp8: 4PFLOP/s, "
      "nvfp4: 8PFLOP/s}}\n");
  c.add("topologies/gpus/old.yaml",
        "{name: old, generation: volta, sms: 80, clock: 1.5GHz, memory: 16GB, hbm: 0.9TB/s, l2: 6MB, power: 300W,\n"
        " peak: {fp32: 15TFLOP/s, fp16: 125TFLOP/s}}\n");
  c.add("topologies/gpus/card.yaml",
        "{name: card, generation: ada, sms: 128, clock: 2.5GHz, memory: 24GB, hbm: 1TB/s, l2: 72MB, power: 450W,\n"
        " peak: {fp32: 82TFLOP/s, tf32: 82TFLOP/s, fp16: 165TFLOP/s, bf16: 165TFLOP/s, fp8: 330TFLOP/s}}\n");
  c.add("topologies/nodes/wide-8.yaml",
        "{base: box-8, name: wide-8, gpu: wide, nvme: {read: 20GB/s, write: 10GB/s}}\n");
  c.add("topologies/nodes/rack-4.yaml",
        "{base: wide-8, name: rack-4, gpus: 4, nvlink: {domain: 16}, nic: {count: 4}}\n");
  c.add("topologies/nodes/pcie-8.yaml",
        "{name: pcie-8, gpu: card, gpus: 8, nic: {bandwidth: 100Gb/s, count: 2, kind: ethernet}, pcie: {bandwidth: "
        "25GB/s, p2p: false},\n host: {memory: 512GB, bandwidth: 200GB/s}, power: 5kW, fabric: slow}\n");
  c.add("topologies/nodes/old-8.yaml",
        "{base: pcie-8, name: old-8, gpu: old, nvlink: {bandwidth: 100GB/s, domain: 8, switch: mesh}, nic: {bandwidth: "
        "100Gb/s, count: 4, kind: infiniband}, fabric: flat}\n");
}

inline void add_frameworks(const config::testing::SmallCatalogue& c) {
  for (const char* name : {"megatron", "deepspeed", "torch", "torchtitan", "transformers", "jax", "forerun", "none"}) {
    const std::string path = std::string("workloads/frameworks/") + name + ".yaml";
    std::ifstream file(std::string(FORERUN_SOURCE_DIR "/") + path);
    c.add(path, {std::istreambuf_iterator<char>(file), {}});
  }
}

/// Two nodes, 32 sequences of 256 tokens.
inline std::string job(const std::string& model, const std::string& node) {
  return "model: " + model + "\ncluster: {node: " + node + ", nodes: 2, fabric: flat}\n" +
         "training: {sequence: 256, global_batch: 32}\nstrategy: {framework: megatron}\n";
}

/// The files live as long as this does.
struct Bench {
  Bench() {
    add_models(files);
    add_nodes(files);
    add_frameworks(files);
  }
  config::testing::SmallCatalogue files;
  config::Catalogue catalogue = files.catalogue();
};

}  // namespace bench_catalogue
