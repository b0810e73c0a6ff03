// SPDX-License-Identifier: Apache-2.0
#include "core/plan/packed_heads.h"

namespace plan {
namespace {

bool copies(const Context& c) {
  const spec::Framework& f = c.job.framework;
  return f.attention_copies && !f.separate_linears && !c.strategy.compile && !c.model.mla && c.model.causal &&
         !c.decodes && c.fused_attention();
}

bool is_flash(const Context& c) { return c.attention != spec::AttentionKernel::cudnn; }
bool is_grouped(const Context& c) { return c.heads > c.kv_heads; }

}  // namespace

std::int64_t copied_before_attention(const Context& c, bool rope) {
  if (!copies(c)) return 0;
  const std::int64_t grouped = is_grouped(c) ? c.q_width : 0;
  if (!is_flash(c)) return (rope ? c.kv_width : 0) + grouped;
  if (c.batch > 1) return c.qkv_width + c.q_width + grouped;  // the output, too
  return (rope ? c.kv_width : c.qkv_width) + grouped;
}

std::int64_t copied_behind_attention(const Context& c, bool rope) {
  if (!copies(c)) return 0;
  const bool stay_packed = !is_flash(c) && !rope && !is_grouped(c);
  if (stay_packed) return 0;
  const std::int64_t gradient_of_output = is_flash(c) && c.batch > 1 ? c.q_width : 0;
  return c.qkv_width + gradient_of_output;
}

}  // namespace plan
