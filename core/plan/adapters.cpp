// SPDX-License-Identifier: Apache-2.0
#include "core/plan/adapters.h"

#include <algorithm>
#include <optional>

#include "core/plan/frozen_base.h"
#include "core/plan/low_precision.h"
#include "core/plan/mla.h"
#include "core/plan/moe.h"
#include "core/plan/recurrent.h"
#include "core/plan/sparse_attention.h"

namespace plan {
namespace {

enum class Target { qkv, proj, ffn };

std::optional<Target> target_of(std::string_view name) {
  if (name == "attention output") return Target::proj;
  for (const std::string_view one :
       {"qkv", "keys", "query", "query down", "query up", "key and value down", "key and value up"}) {
    if (name == one) return Target::qkv;
  }
  for (const std::string_view start : {"feed-forward", "expert", "shared expert"}) {
    if (name.starts_with(start)) return Target::ffn;
  }
  return {};
}

std::int64_t rows_of(const Context& c, const Linear& linear) {
  return linear.rows > 0 ? linear.rows * linear.experts : c.tokens;
}

/// Of A and B on one rank; beside an expert, of one expert.
std::int64_t pair_parameters(const Context& c, const Placed& placed) {
  const auto& [linear, side] = placed;
  const std::int64_t r = c.strategy.lora->rank, ranks = c.axes[linear.axis].size;
  const std::int64_t modules = std::ssize(modules_of(linear));
  const auto share = [&](std::int64_t width) { return (width + ranks - 1) / ranks; };
  switch (side) {
    case Side::column: return modules * linear.in * share(r) + r * linear.out;
    case Side::row: return linear.in * r + r * share(linear.out);
    case Side::whole: return linear.in * r + r * linear.out;
  }
  return 0;
}

}  // namespace

bool is_target(const Linear& linear) { return target_of(linear.name).has_value(); }

bool adapted(const Context& c, const Linear& linear) {
  const std::optional<Target> target = target_of(linear.name);
  if (!c.strategy.lora || !target) return false;
  const spec::Lora& lora = *c.strategy.lora;
  return *target == Target::qkv ? lora.qkv : *target == Target::proj ? lora.proj : lora.ffn;
}

std::vector<std::string_view> module_names(std::string_view linear) {
  if (linear == "qkv") return {"queries", "keys", "values"};
  if (linear == "feed-forward up") return {"feed-forward gate", "feed-forward up"};
  return {linear};
}

std::vector<Linear> modules_of(const Linear& linear) {
  if (linear.parts[0] == 0) return {linear};
  const std::vector<std::string_view> names = module_names(linear.name);
  std::vector<Linear> modules;
  for (std::size_t i = 0; i < names.size(); ++i) {
    Linear& one = modules.emplace_back(linear);
    one.name = names[i];
    one.out = linear.parts[i];
    one.parts = {};
  }
  return modules;
}

std::vector<Placed> linears_of_layer(const Context& c, spec::LayerParts parts) {
  std::vector<Placed> all;
  if (parts.recurs()) {
    all = {{recurrent_in(c), Side::column}, {recurrent_out(c), Side::row}};
  } else if (parts.attends()) {
    if (c.model.mla) {
      all = latent_linears(c);
    } else {
      all.push_back({qkv_linear(c), Side::column});
    }
    if (parts.indexes) {
      for (const Placed& one : indexer_linears(c)) all.push_back(one);
    }
    all.push_back({proj_linear(c), Side::row});
  }
  if (parts.has_experts()) {
    const MoeShape shape(c);
    if (shape.shared_ffn > 0) {
      all.push_back({shared_expert_up(c, shape), Side::column});
      all.push_back({shared_expert_down(c, shape), Side::row});
    }
    if (c.model.moe->latent > 0) {
      all.push_back({latent_down(c, shape), Side::whole});
      all.push_back({latent_up(c, shape), Side::whole});
    }
    all.push_back({expert_up(c, shape), Side::column});
    all.push_back({expert_down(c, shape), Side::row});
  } else if (parts.has_dense()) {
    all.push_back({up_linear(c), Side::column});
    all.push_back({down_linear(c), Side::row});
  }
  return all;
}

std::vector<Placed> adapted_linears(const Context& c, spec::LayerParts parts) {
  std::vector<Placed> all = linears_of_layer(c, parts);
  std::erase_if(all, [&](const Placed& one) { return !adapted(c, one.linear); });
  return all;
}

bool wide_adapter(const Context& c, const Linear& linear) {
  return c.job.framework.wide_adapters && linear.axis != Axis::etp;
}

std::int64_t whole_adapter_parameters(const Context& c) {
  std::int64_t count = 0;
  for (const Placed& one : adapted_linears(c, {})) count += one.side == Side::whole ? pair_parameters(c, one) : 0;
  return count;
}

Held beside_frozen(const Context& c, int layer, const Held& whole) {
  Held held;
  for (const Placed& one : adapted_linears(c, c.model.parts_in(layer))) {
    if (one.linear.axis == Axis::etp) {
      held.experts += c.model.moe->experts / c.strategy.ep * pair_parameters(c, one);
    } else {
      held.dense += pair_parameters(c, one);
    }
  }
  // Norms, biases and routers, a ten-thousandth, among them.
  const double bytes = narrow_alone(c) && narrow(c, layer) ? narrow_bytes(c) : base_bytes(c.strategy.lora->base);
  held.frozen_dense = static_cast<std::int64_t>(bytes * static_cast<double>(whole.dense));
  held.frozen_experts = static_cast<std::int64_t>(bytes * static_cast<double>(whole.experts));
  return held;
}

void keep_for_adapters(const Context& c, spec::LayerParts parts, BlockActivations& out) {
  const spec::Lora& lora = *c.strategy.lora;
  const std::int64_t e = c.element;
  // Where adapters read a copy of their own, cast or dropped, nothing reads what it was made of.
  const bool copied = lora.dropout > 0 || c.job.framework.wide_adapters;
  const int kept = copied ? 0 : (lora.qkv ? 1 : 0) + (lora.ffn ? 1 : 0);
  out.linear_inputs = std::min<std::int64_t>(out.linear_inputs, kept * c.shard_tokens * c.hidden * e);
  if (c.model.mla && !lora.qkv) {  // what the projections up read; the norms in front of them keep their own inputs
    out.qkv -= c.shard_tokens * (c.model.mla->q_lora_rank + c.model.mla->kv_lora_rank) * e;
  }
  // What the feed-forward's matmuls multiply; routed experts' adapters have no wide copy.
  const bool unread = !lora.ffn || copied, unread_rows = !lora.ffn || lora.dropout > 0;
  if (parts.has_experts()) {
    const MoeShape shape(c);
    if (unread_rows) out.experts -= shape.rows * (shape.width + shape.ffn) * e;
    if (unread) out.experts -= c.tokens * shape.shared_ffn * e;
  } else if (unread && parts.has_dense()) {
    out.feed_forward -= c.tokens * c.ffn * e;
  }
  for (const Placed& one : adapted_linears(c, parts)) {
    const std::int64_t rows = rows_of(c, one.linear);
    const bool wide = wide_adapter(c, one.linear), drops = lora.dropout > 0;
    // Of its input each adapter has a copy of its own, cast or dropped, and the mask of one byte.
    const std::int64_t input = one.linear.in * ((wide || drops ? e : 0) + (drops ? 1 : 0));
    out.linear_inputs += std::ssize(modules_of(one.linear)) * rows * (lora.rank * e + input);
  }
}

}  // namespace plan
