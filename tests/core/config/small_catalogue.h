// tests/core/config/small_catalogue.h -- a catalogue of round numbers in a temporary folder, so that tests of reading
// do not move when the real data files do. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "core/config/catalogue.h"
#include "core/config/job_reader.h"

namespace config::testing {

inline void write_file(const std::filesystem::path& path, const std::string& text) {
  std::filesystem::create_directories(path.parent_path());
  std::ofstream(path) << text;
}

/// Node box-8 (8 GPUs of 80 GB, one NVLink domain, 8 cards of 25 GB/s), rack-72 (4 GPUs of a domain of 72), GPU chip
/// (hopper), fabric flat and slow, models small (24 layers) and hf (a Hugging Face config), frameworks megatron and
/// bare.
class SmallCatalogue {
 public:
  SmallCatalogue()
      : root_(std::filesystem::path(::testing::TempDir()) / ("forerun-catalogue-" + std::to_string(getpid()))) {
    std::filesystem::remove_all(root_);
    add("topologies/gpus/chip.yaml",
        "{name: chip, generation: hopper, sms: 100, clock: 1GHz, peak: {fp32: 50TFLOP/s, fp16: 1PFLOP/s, bf16: "
        "1PFLOP/s},\n"
        " memory: 80GB, hbm: 3TB/s, l2: 50MB, power: 700W}\n");
    add("topologies/nodes/box-8.yaml",
        "{name: box-8, gpu: chip, gpus: 8, nvlink: {bandwidth: 450GB/s, domain: 8, switch: nvswitch, multicast: "
        "true},\n"
        " nic: {bandwidth: 200Gb/s, count: 8, kind: infiniband}, pcie: {bandwidth: 63GB/s},\n"
        " host: {memory: 2TB, bandwidth: 300GB/s}, power: 10kW, fabric: flat}\n");
    add("topologies/nodes/rack-72.yaml",
        "{base: box-8, name: rack-72, gpus: 4, nvlink: {domain: 72}, nic: {count: 4}}\n");
    add("topologies/fabrics/flat.yaml", "{name: flat, kind: rail_optimized, hop_latency: 1us}\n");
    add("topologies/fabrics/slow.yaml", "{base: flat, name: slow, oversubscription: 2}\n");
    std::string scarce;
    for (const std::string_view part : spec::kScarceNames) {
      scarce += (scarce.empty() ? "" : ", ") + std::string(part) + ": {faster: 0, slower: 0.1}";
    }
    add("topologies/uncertainty.yaml",
        "{stack: {faster: 0, slower: 0.1}, unmodelled: {faster: 0, slower: 0.05}, repeat: 0.02, host: 0.3,\n"
        " interference: 0.5, copies: 0.2, assumed_attention: 0.2, assumed_norm: 0.4, assumed_option: 0.01, "
        "outside_fit: 2,\n"
        " scarce: {" +
            scarce + "}}\n");
    add("workloads/models/small.yaml",
        "{name: small, layers: 24, hidden: 1024, heads: 16, kv_heads: 4, head_dim: 64, ffn: 4096, gated_mlp: true, "
        "vocab: 32000}\n");
    add("workloads/models/hf.json",
        "{\"model_type\": \"llama\", \"architectures\": [\"LlamaForCausalLM\"], \"num_hidden_layers\": 2, "
        "\"hidden_size\": 256,\n"
        "\t\"num_attention_heads\": 4, \"num_key_value_heads\": 2, \"intermediate_size\": 512, \"vocab_size\": 1000,\n"
        "\t\"hidden_act\": \"silu\", \"rms_norm_eps\": 1e-05, \"tie_word_embeddings\": false, "
        "\"max_position_embeddings\": 4096}\n");
    for (const char* name : {"megatron", "bare"}) {
      const bool full = name[0] == 'm';
      add(std::string("workloads/frameworks/") + name + ".yaml",
          std::string(
              "{launch: 5us, backward_launch: 4us, collective_launch: 10us, step: 1ms, gradient_bucket: 160MB,\n") +
              " parameter_bucket: 160MB, compiled_launch: 3us, context: 1GB, communicator: 400MB, fragmentation: "
              "0.05,\n" +
              " fused_kernels: " + (full ? "true" : "false") +
              ",\n overlap: {grad_reduce: " + (full ? "true" : "false") + "}}\n");
    }
  }
  ~SmallCatalogue() { std::filesystem::remove_all(root_); }

  void add(const std::string& path, const std::string& text) const { write_file(root_ / path, text); }
  std::string root() const { return root_.string(); }
  Catalogue catalogue() const { return Catalogue(root()); }

  spec::Job read(const std::string& yaml) const { return read_job(parse(yaml, "job.yaml"), catalogue()); }
  /// The whole message about a Job, the folder of the catalogue left out.
  std::string message(const std::string& yaml) const {
    try {
      read(yaml);
    } catch (const base::InputError& error) {
      std::string text = error.what();
      for (std::size_t at; (at = text.find(root() + "/")) != std::string::npos;) text.erase(at, root().size() + 1);
      return text;
    }
    return "no fault";
  }

 private:
  std::filesystem::path root_;
};

}  // namespace config::testing
