// SPDX-License-Identifier: Apache-2.0
#include "core/plan/states.h"

#include <algorithm>
#include <functional>

#include "core/plan/data_parallel.h"
#include "core/plan/mla.h"
#include "core/plan/moe_shape.h"
#include "core/plan/muon.h"
#include "core/plan/offload.h"
#include "core/plan/recurrent.h"
#include "core/spec/parameters.h"

namespace plan {
namespace {

/// Bytes of the placeholders of a stage: one for each linear of a layer, of an expert and of the shared ones, since
/// layers and experts are alike.
std::int64_t placeholders(const Context& c, const std::vector<Chunk>& chunks) {
  const auto any = [&](auto that) {
    return std::ranges::any_of(chunks, [&](const Chunk& chunk) {
      for (int i = 0; i < blocks_of(c, chunk); ++i) {
        if (that(parts_of_block(c, chunk, i))) return true;
      }
      return false;
    });
  };
  std::int64_t parameters = 0;
  if (any(std::mem_fn(&spec::LayerParts::attends))) {
    parameters += c.model.mla ? latent_parameters(c) : c.hidden * (c.qkv_product + c.q_width);
  }
  if (any([](spec::LayerParts parts) { return parts.indexes; })) parameters += spec::indexer_weights(c.model);
  if (any(std::mem_fn(&spec::LayerParts::recurs))) parameters += recurrent_matrices(c);
  if (any(std::mem_fn(&spec::LayerParts::has_dense))) parameters += c.hidden * (c.up_width + c.ffn);
  if (any(std::mem_fn(&spec::LayerParts::has_experts))) {
    parameters += expert_parameters(c) + shared_expert_parameters(c) + 2 * c.hidden * c.model.moe->latent;
  }
  return parameters * c.element;
}

/// Of `all` parameters under zero 2 and 3: gradients that no reduction has taken yet.
template <class Hold>
void hold_unscattered(const Context& c, std::int64_t all, const std::vector<Chunk>& chunks, Hold hold) {
  if (sums_whole(c)) {
    if (c.rolling) hold(Category::gradients, all * c.gradient_element);  // of the next step while this one ends
    return;
  }
  for (const Chunk& chunk : chunks) {  // a table to whose gradient two chunks add
    if (chunk.first) hold(Category::gradients, late_table(c) * c.gradient_element);
  }
  if (c.fully_sharded && !c.job.framework.bucketed_units) return;
  // Buckets on their way: one, or two in turns where compute goes on beside the reduction.
  const std::int64_t bucket = bucket_elements(c, c.job.framework.gradient_bucket, 1);
  const std::int64_t most = all * c.gradient_element;
  const std::int64_t one = bucket == 0 ? most : std::min(bucket, most);
  hold(Category::communication, c.overlap_grad_reduce ? std::min(2 * one, most) : one);
}

/// Of what a rank's optimizer updates.
std::int64_t shard_gradients(const Context& c, const Held& held) {
  if (c.strategy.offload.updates_on_host()) return 0;
  return optimizer_share(c, held).total() * owned_gradient_element(c);
}

}  // namespace

bool has_placeholders(const Context& c) {
  return c.job.framework.placeholders_of_fp8_gpus && c.fused_accumulation && !c.scatters_gradients && !c.serves &&
         !c.strategy.lora && !c.model.is_list() && c.job.cluster.node.gpu.computes(spec::Dtype::fp8);
}

bool sums_whole(const Context& c) {
  return c.scatters_gradients && !c.strategy.fsdp.sync_each_microbatch && c.microbatches > 1;
}

std::int64_t unscattered_sums(const Context& c, const Held& held) {
  if (!sums_whole(c) || c.rolling) return 0;
  return std::max<std::int64_t>(0, held.total() * c.gradient_element - shard_gradients(c, held));
}

bool makes_gradients_anew(const Context& c) {
  const bool alone = c.microbatches == 1 && c.pp == 1 && !c.rolling && !c.serves;
  if (!c.job.framework.fresh_gradients || !alone || c.job.strategy.offload.updates_on_host()) return false;
  // PyTorch's DDP keeps its buckets, of which gradients are views unless they are copied.
  return c.scatters_gradients || !c.replicated() || copies_buckets(c);
}

std::int64_t fresh_gradients(const Context& c, const Held& held) {
  if (!makes_gradients_anew(c)) return 0;
  return c.scatters_gradients ? shard_gradients(c, held) : held.total() * c.gradient_element;
}

bool shards_masters(const Context& c) {
  return c.fully_sharded && c.job.framework.fp32_shards && c.job.training.keeps_master();
}

std::int64_t weight_element(const Context& c) { return weights_are_masters(c) ? 4 : c.element; }

std::int64_t weight_beside_state(const Context& c) { return weights_are_masters(c) ? 0 : c.element; }

std::int64_t state_beside_weight(const Context& c) { return optimizer_bytes(c) - (weights_are_masters(c) ? 4 : 0); }

std::int64_t owned_gradient_element(const Context& c) {
  const bool as_shards = c.fully_sharded && c.job.framework.fp32_shards;
  return as_shards ? weight_element(c) : c.gradient_element;
}

void hold_states(const Context& c, const Held& held, const std::vector<Chunk>& chunks, Role& role) {
  const auto hold = [&](Category category, std::int64_t bytes) { role.resident[static_cast<int>(category)] += bytes; };
  const std::int64_t all = held.total(), share = optimizer_share(c, held).total();
  const spec::Offload& offload = c.strategy.offload;
  hold_on_host(c, held, role);
  if (c.fully_sharded) {
    if (!offload.fetches_parameters()) {
      hold(Category::parameters, share * weight_element(c) + frozen_share(c, held));
    }
  } else {
    hold(Category::parameters, (all - held.narrow_dense - held.narrow_experts) * weight_element(c) + held.frozen());
    for (const Chunk& chunk : chunks) hold(Category::parameters, narrow_copies(c, chunk));
  }
  if (!offload.updates_on_host()) {
    const std::int64_t alike = share * state_beside_weight(c) + optimizer_scales(c, share);
    hold(Category::optimizer, by_muon(c) ? states_by_muon(c, chunks) : alike);
  }
  if (has_placeholders(c)) hold(Category::gradients, placeholders(c, chunks));
  if (!c.scatters_gradients) {
    const bool beside = c.separate_gradients && !frees_gradients(c);
    hold(Category::gradients, all * (c.gradient_element + (beside ? c.element : 0)));
    hold(Category::gradients, bucket_copies(c, held));
    return;
  }
  hold(Category::gradients, shard_gradients(c, held));
  hold_unscattered(c, all, chunks, hold);
}

}  // namespace plan
