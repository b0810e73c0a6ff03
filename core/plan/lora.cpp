// SPDX-License-Identifier: Apache-2.0
#include "core/plan/lora.h"

#include <algorithm>
#include <string>

#include "core/plan/adapters.h"
#include "core/plan/elementwise.h"
#include "core/plan/frozen_base.h"
#include "core/plan/low_precision.h"

namespace plan {
namespace {

/// Writes the matmuls of one adapter, or of those of a rank's experts as grouped ones.
class Adapter {
 public:
  /// `first`: of those that read one input.
  Adapter(const Context& c, SegmentBuilder& out, const Linear& linear, Side side, bool first)
      : c_(c),
        out_(out),
        linear_(linear),
        side_(side),
        first_(first),
        rank_(c.strategy.lora->rank),
        rows_(linear.rows > 0 ? linear.rows : c.tokens),
        all_rows_(rows_ * linear.experts),
        ranks_(side == Side::whole ? 1 : c.axes[linear.axis].size) {}

  void forward() {
    read_input("adapter input dropout", "adapter input cast");
    multiply(side_ == Side::column ? share(rank_) : rank_, linear_.in, "adapter A");
    if (side_ == Side::column) exchange(CollectiveKind::all_gather, all_rows_ * rank_, "adapter all-gather");
    if (side_ == Side::row) exchange(CollectiveKind::all_reduce, all_rows_ * rank_, "adapter all-reduce");
    multiply(side_ == Side::row ? share(linear_.out) : linear_.out, rank_, "adapter B");
    if (side_ == Side::row) {
      join_columns();
    } else {
      add_output(all_rows_ * linear_.out);
    }
  }

  void backward() {
    const std::int64_t columns = side_ == Side::row ? share(linear_.out) : linear_.out;
    const std::int64_t inner = side_ == Side::column ? share(rank_) : rank_;
    scale(all_rows_ * columns, "adapter gradient scale");
    multiply(rank_, columns, "adapter B input gradient", Matmul::Pass::input_gradient);
    weight(rank_, columns, "adapter B weight gradient");
    if (side_ == Side::column) {
      exchange(CollectiveKind::reduce_scatter, all_rows_ * rank_, "adapter gradient reduce-scatter");
    } else {
      exchange(CollectiveKind::all_reduce, all_rows_ * rank_, "adapter gradient all-reduce");
    }
    multiply(linear_.in, inner, "adapter A input gradient", Matmul::Pass::input_gradient);
    weight(linear_.in, inner, "adapter A weight gradient");
    const bool drops = c_.strategy.lora->dropout > 0, own = first_ || drops || wide_adapter(c_, linear_);
    const std::int64_t read = (own ? linear_.in : 0) + linear_.out + 2 * rank_;
    out_.retain(all_rows_ * (read * c_.element + (drops ? linear_.in : 0)));
    read_input("adapter input gradient dropout", "adapter input gradient cast");
    add(all_rows_ * linear_.in, "adapter gradient add");
  }

 private:
  /// Each rank has made its columns for all rows. Experts' outputs are summed over the ranks behind the layer, so they
  /// join this rank's own; elsewhere the sum is over, and every rank wants all columns.
  void join_columns() {
    const std::int64_t own = all_rows_ * share(linear_.out);
    if (linear_.axis == Axis::etp) return add_output(own);
    if (c_.sp) {  // of its own tokens
      exchange(CollectiveKind::all_to_all, own, "adapter all-to-all");
    } else {
      exchange(CollectiveKind::all_gather, all_rows_ * linear_.out, "adapter output all-gather");
    }
    add_output(c_.shard_tokens * linear_.out);
  }

  /// Dropout of what A reads, in fp32 with a mask of bytes where adapters are in fp32, and its casts; or the same of
  /// the input's gradient. A and B are cast, too.
  void read_input(const char* dropout, const char* cast) {
    const std::int64_t elements = all_rows_ * linear_.in;
    const bool wide = wide_adapter(c_, linear_);
    if (wide) {
      const std::int64_t weights = rank_ * (linear_.in + linear_.out);
      out_.compute(
          MemoryBound{MemoryBound::Kind::elementwise, 6 * elements + 4 * weights, 6 * elements + 2 * weights, 4},
          called(cast), 4);
    }
    if (c_.strategy.lora->dropout == 0) return;
    const std::int64_t element = wide ? 4 : c_.element;
    out_.compute(MemoryBound{MemoryBound::Kind::elementwise, elements * element, elements * (element + 1), 1},
                 called(dropout));
  }

  /// By alpha / rank, which a compiler makes part of the sum.
  void scale(std::int64_t elements, const char* what) {
    if (c_.strategy.compile) return;
    const std::int64_t bytes = elements * c_.element;
    out_.compute(MemoryBound{MemoryBound::Kind::elementwise, bytes, bytes, 1}, called(what));
  }
  void add_output(std::int64_t elements) {
    scale(elements, "adapter scale");
    add(elements, "adapter add");
  }

  std::int64_t share(std::int64_t width) const { return (width + ranks_ - 1) / ranks_; }
  std::string called(const char* what) const { return std::string(linear_.name) + ' ' + what; }
  bool grouped() const { return linear_.experts > 1; }
  void multiply(std::int64_t n, std::int64_t k, const char* what, Matmul::Pass pass = Matmul::Pass::forward) {
    out_.compute(Matmul{rows_, n, k, linear_.experts, c_.operand, c_.storage, false, grouped(), false, pass},
                 called(what));
  }
  void weight(std::int64_t m, std::int64_t n, const char* what) {
    SegmentBuilder& out = out_.weights();
    const bool fused = c_.fused_accumulation;
    const spec::Dtype result = fused ? c_.job.training.gradients() : c_.storage;
    out.compute(Matmul{m, n, rows_, linear_.experts, c_.operand, result, fused, grouped(), false,
                       Matmul::Pass::weight_gradient},
                called(what));
    if (!fused && adds_gradients(c_)) {
      const Chain sum = accumulate_gradient(c_, m * n * linear_.experts);
      out.compute(sum.work, called("adapter gradient accumulation"), sum.launches);
    }
  }
  void exchange(CollectiveKind kind, std::int64_t elements, const char* what) {
    if (ranks_ == 1) return;
    const std::int16_t channel = out_.pool().channel({Channel::Kind::group, linear_.axis});
    out_.communicate(Collective{kind, elements * c_.element, c_.group(linear_.axis)}, called(what), Stream::tp, channel,
                     {Stream::compute});
    out_.join(Stream::tp);
  }
  void add(std::int64_t elements, const char* what) {
    out_.compute(MemoryBound{MemoryBound::Kind::elementwise, 2 * elements * c_.element, elements * c_.element, 1},
                 called(what));
  }

  const Context& c_;
  SegmentBuilder& out_;
  const Linear& linear_;
  Side side_;
  bool first_;
  std::int64_t rank_, rows_, all_rows_, ranks_;
};

}  // namespace

void adapter_forward(const Context& c, SegmentBuilder& out, const Linear& linear, Side side) {
  if (!adapted(c, linear)) return;
  for (const Linear& module : modules_of(linear)) Adapter(c, out, module, side, true).forward();
}

void adapter_backward(const Context& c, SegmentBuilder& out, const Linear& linear, Side side) {
  if (!adapted(c, linear)) return;
  bool first = true;
  for (const Linear& module : modules_of(linear)) {
    Adapter(c, out, module, side, first).backward();
    first = false;
  }
}

ExpandedBase::ExpandedBase(const Context& c, SegmentBuilder& out, const Linear& linear) : out_(out) {
  if (!expands_base(c) || out.layer < 0 || !is_target(linear)) return;
  const std::int64_t weights = linear.in * linear.out * linear.experts;
  const std::int64_t widest = std::ranges::max(linear.parts);  // modules of their own are expanded one after another
  bytes_ = (widest > 0 ? linear.in * widest : weights) * c.element;
  out.take(Category::workspace, bytes_);
  const double read = static_cast<double>(weights) * base_bytes(c.strategy.lora->base);
  out.compute(MemoryBound{MemoryBound::Kind::copy, static_cast<std::int64_t>(read), weights * c.element, 1},
              std::string(linear.name) + " base expanded");
}

ExpandedBase::~ExpandedBase() { out_.give(Category::workspace, bytes_); }

}  // namespace plan
