// SPDX-License-Identifier: Apache-2.0
#include "core/config/other_key_names.h"

#include <algorithm>
#include <array>
#include <utility>

#include "core/base/near_names.h"

namespace config {
namespace {

/// Without the endings and the "model" that some tools add: tensor_model_parallel_size is tensor_parallel.
constexpr std::array<std::pair<std::string_view, std::string_view>, 44> kElsewhere{{
    {"gpu", "cluster.node"},
    {"tensor_parallel", "strategy.tp"},
    {"tp", "strategy.tp"},
    {"sequence_parallel", "strategy.sp"},
    {"context_parallel", "strategy.cp"},
    {"cp", "strategy.cp"},
    {"pipeline_parallel", "strategy.pp"},
    {"pp", "strategy.pp"},
    {"pipeline_stages", "strategy.pp"},
    {"num_stages", "strategy.pp"},
    {"virtual_pipeline_parallel", "strategy.vpp"},
    {"virtual_stages", "strategy.vpp"},
    {"data_parallel", "strategy.dp"},
    {"dp", "strategy.dp"},
    {"replicas", "strategy.dp"},
    {"expert_parallel", "strategy.ep"},
    {"ep", "strategy.ep"},
    {"expert_tensor_parallel", "strategy.etp"},
    {"zero_stage", "strategy.zero"},
    {"zero_level", "strategy.zero"},
    {"activation_checkpointing", "strategy.recompute"},
    {"gradient_checkpointing", "strategy.recompute"},
    {"recomputation", "strategy.recompute"},
    {"attention_backend", "strategy.attention_kernel"},
    {"attn_implementation", "strategy.attention_kernel"},
    {"seq", "training.sequence"},
    {"seq_len", "training.sequence"},
    {"seq_length", "training.sequence"},
    {"seqlen", "training.sequence"},
    {"sequence_length", "training.sequence"},
    {"max_seq_len", "training.sequence"},
    {"max_seq_length", "training.sequence"},
    {"batch", "training.global_batch"},
    {"global_batch", "training.global_batch"},
    {"gbs", "training.global_batch"},
    {"train_batch", "training.global_batch"},
    {"mbs", "training.micro_batch"},
    {"micro_batch", "training.micro_batch"},
    {"microbatch", "training.micro_batch"},
    {"local_batch", "training.micro_batch"},
    {"per_device_train_batch", "training.micro_batch"},
    {"dtype", "training.precision"},
    {"mixed_precision", "training.precision"},
    {"nccl_algo", "network.algorithm"},
}};

}  // namespace

std::string_view job_key_elsewhere_called(std::string_view name) {
  std::string plain = base::spelled_alike(name);
  for (const std::string_view ending : {"_size", "_degree"}) {
    if (plain.ends_with(ending)) plain.resize(plain.size() - ending.size());
  }
  if (plain.ends_with("_parallelism")) plain.resize(plain.size() - 3);
  if (const std::size_t at = plain.find("_model_parallel"); at != plain.npos) plain.erase(at, 6);
  const auto* const row = std::ranges::find(kElsewhere, std::string_view(plain), [](const auto& r) { return r.first; });
  return row == kElsewhere.end() ? std::string_view() : row->second;
}

}  // namespace config
