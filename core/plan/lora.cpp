// SPDX-License-Identifier: Apache-2.0
#include "core/plan/lora.h"

#include <string>

#include "core/plan/elementwise.h"
#include "core/plan/tensor_parallel.h"

namespace plan {
namespace {

using spec::LoraBase;

/// Bytes a parameter of the base. int8 has one fp32 scale a column (left out); nf4 a scale of 8 bits for 64 numbers and
/// one of 32 bits for 256 of those (QLoRA, section 3: 0.127 bits a parameter).
double base_bytes(LoraBase base) {
  switch (base) {
    case LoraBase::bf16: return 2;
    case LoraBase::int8: return 1;
    case LoraBase::nf4: return 0.5 + (8.0 / 64 + 32.0 / (64 * 256)) / 8;
  }
  return 2;
}

/// Writes the matmuls of one adapter.
class Adapter {
 public:
  Adapter(const Context& c, SegmentBuilder& out, const Linear& linear)
      : c_(c), out_(out), linear_(linear), rank_(c.strategy.lora->rank) {}

  void forward(Side side) {
    if (side == Side::column) {
      multiply(c_.tokens, share(rank_), linear_.in, "adapter A");
      exchange(CollectiveKind::all_gather, c_.tokens * rank_, "adapter all-gather");
      multiply(c_.tokens, linear_.out, rank_, "adapter B");
    } else {
      multiply(c_.tokens, rank_, linear_.in, "adapter A");
      exchange(CollectiveKind::all_reduce, c_.tokens * rank_, "adapter all-reduce");
      multiply(c_.tokens, share(linear_.out), rank_, "adapter B");
      // Under sequence parallel every rank wants its tokens of all columns.
      if (c_.sp) {
        exchange(CollectiveKind::all_to_all, c_.tokens * share(linear_.out), "adapter all-to-all");
      } else {
        exchange(CollectiveKind::all_gather, c_.tokens * linear_.out, "adapter output all-gather");
      }
    }
    add(side == Side::row ? c_.shard_tokens * linear_.out : c_.tokens * linear_.out, "adapter add");
  }

  void backward(Side side) {
    const std::int64_t columns = side == Side::column ? linear_.out : share(linear_.out);
    const std::int64_t inner = side == Side::column ? share(rank_) : rank_;
    multiply(c_.tokens, rank_, columns, "adapter B input gradient");
    weight(rank_, columns, "adapter B weight gradient");
    exchange(side == Side::column ? CollectiveKind::reduce_scatter : CollectiveKind::all_reduce, c_.tokens * rank_,
             side == Side::column ? "adapter gradient reduce-scatter" : "adapter gradient all-reduce");
    multiply(c_.tokens, linear_.in, inner, "adapter A input gradient");
    weight(linear_.in, inner, "adapter A weight gradient");
    add(c_.tokens * linear_.in, "adapter gradient add");
  }

 private:
  std::int64_t share(std::int64_t width) const { return (width + c_.tp - 1) / c_.tp; }
  std::string called(const char* what) const { return std::string(linear_.name) + ' ' + what; }
  void multiply(std::int64_t m, std::int64_t n, std::int64_t k, const char* what) {
    out_.compute(Matmul{m, n, k, 1, c_.storage, c_.storage, false}, called(what));
  }
  void weight(std::int64_t m, std::int64_t n, const char* what) {
    const bool fused = c_.fused_accumulation;
    const spec::Dtype result = fused ? c_.job.training.gradients() : c_.storage;
    out_.compute(Matmul{m, n, c_.tokens, 1, c_.storage, result, fused}, called(what));
    if (!fused && (c_.separate_gradients || c_.microbatches > 1)) {
      const Chain sum = accumulate_gradient(c_, m * n);
      out_.compute(sum.work, called("adapter gradient accumulation"), sum.launches);
    }
  }
  void exchange(CollectiveKind kind, std::int64_t elements, const char* what) {
    TensorParallel(c_, out_).collective(kind, elements, called(what));
  }
  void add(std::int64_t elements, const char* what) {
    out_.compute(MemoryBound{MemoryBound::Kind::elementwise, 2 * elements * c_.element, elements * c_.element, 1},
                 called(what));
  }

  const Context& c_;
  SegmentBuilder& out_;
  const Linear& linear_;
  std::int64_t rank_;
};

}  // namespace

bool adapted(const Context& c, const Linear& linear) {
  if (!c.strategy.lora) return false;
  const spec::Lora& lora = *c.strategy.lora;
  if (linear.name == "qkv") return lora.qkv;
  if (linear.name == "attention output") return lora.proj;
  return linear.name.starts_with("feed-forward") && lora.ffn;
}

std::int64_t adapter_parameters(const Context& c) {
  const spec::Lora& lora = *c.strategy.lora;
  const auto share = [&](std::int64_t width) { return (width + c.tp - 1) / c.tp; };
  const std::int64_t r = lora.rank;
  std::int64_t count = 0;
  if (lora.qkv) count += c.hidden * share(r) + r * c.qkv_width;
  if (lora.proj) count += c.q_width * r + r * share(c.hidden);
  if (lora.ffn) count += c.hidden * share(r) + r * c.up_width + c.ffn * r + r * share(c.hidden);
  return count;
}

std::int64_t frozen_bytes(const Context& c, std::int64_t layers, std::int64_t ends) {
  return static_cast<std::int64_t>(base_bytes(c.strategy.lora->base) * static_cast<double>(layers)) + ends * c.element;
}

void adapter_forward(const Context& c, SegmentBuilder& out, const Linear& linear, Side side) {
  if (adapted(c, linear)) Adapter(c, out, linear).forward(side);
}

void adapter_backward(const Context& c, SegmentBuilder& out, const Linear& linear, Side side) {
  if (adapted(c, linear)) Adapter(c, out, linear).backward(side);
}

void expand_base(const Context& c, SegmentBuilder& out, const Linear& linear) {
  if (!c.strategy.lora || c.strategy.lora->base == LoraBase::bf16 || out.layer < 0) return;
  const double weights = static_cast<double>(linear.in * linear.out);
  const auto read = static_cast<std::int64_t>(weights * base_bytes(c.strategy.lora->base));
  out.compute(MemoryBound{MemoryBound::Kind::copy, read, linear.in * linear.out * c.element, 1},
              std::string(linear.name) + " base expanded");
}

}  // namespace plan
