// SPDX-License-Identifier: Apache-2.0
#include "core/plan/moe.h"

#include <algorithm>
#include <cmath>

#include "core/plan/elementwise.h"
#include "core/plan/low_precision.h"
#include "core/plan/visited.h"
#include "core/spec/model_code.h"

namespace plan {
namespace {

using spec::MoeDispatcher;

/// Kernels on tokens x experts numbers in fp32, each reading what the one before wrote and writing half as much: scores
/// become a mask of the chosen ones, their weights and counts.
MemoryBound router_chain(std::int64_t scores, int kernels) {
  return {MemoryBound::Kind::softmax, scores * 4 * kernels, scores * 4 * kernels / 2, kernels};
}

/// Whether selective_ops keeps what the exchange of tokens brings: all-to-alls are on the lists of Llama 4, DeepSeek-V3
/// and gpt-oss, not on Qwen3's, whose heads have norms (torchtitan/models/qwen3/infra/parallelize.py, 2025); gathers
/// are on none.
bool keeps_exchanged(const Context& c) {
  const bool listed = !norms_heads(c.model) || c.model.moe->shared_ffn > 0;
  if (c.strategy.moe_dispatcher == MoeDispatcher::alltoall && !listed) return false;
  return c.strategy.ep > 1 && c.strategy.moe_dispatcher != MoeDispatcher::allgather;
}

/// Whether the gradient of a product by the operation reads results of experts that selective_ops has let go: all but
/// those that a kept exchange has brought back to be weighed.
bool weighs_results_again(const Context& c) { return !c.fused_permute && !(copies_first(c) && keeps_exchanged(c)); }

std::int64_t rounded(double rows) { return static_cast<std::int64_t>(std::llround(rows)); }

}  // namespace

Linear expert_up(const Context& c, const MoeShape& shape) {
  return {.name = "expert up",
          .in = shape.width,
          .out = shape.up_width,
          .bias = c.model.bias,
          .rows = shape.rows_per_expert,
          .experts = shape.experts,
          .halves = separates_experts(c) ? 2 : 1,
          .axis = Axis::etp};
}
Linear expert_down(const Context& c, const MoeShape& shape) {
  return {.name = kExpertDown,
          .in = shape.ffn,
          .out = shape.width,
          .bias = c.model.bias,
          .rows = shape.rows_per_expert,
          .experts = shape.experts,
          .axis = Axis::etp};
}
Linear shared_expert_up(const Context& c, const MoeShape& shape) {
  return {"shared expert up", c.hidden, shape.shared_up_width, c.model.bias};
}
Linear shared_expert_down(const Context& c, const MoeShape& shape) {
  return {"shared expert down", shape.shared_ffn, c.hidden, c.model.bias};
}

Linear latent_down(const Context& c, const MoeShape& shape) {
  return {.name = "latent down", .in = c.hidden, .out = shape.width, .bias = c.model.bias, .rows = shape.tokens};
}
Linear latent_up(const Context& c, const MoeShape& shape) {
  return {.name = "latent up", .in = shape.width, .out = c.hidden, .bias = c.model.bias, .rows = shape.tokens};
}

void MoeLayer::exchange(CollectiveKind kind, Axis axis, Stream stream, std::int64_t rows, std::int64_t element,
                        std::string_view name) {
  const std::int16_t channel = out_.pool().channel({Channel::Kind::group, axis});
  Collective work{kind, rows * shape_.width * element, c_.group(axis)};
  if (kind == CollectiveKind::all_to_all && c_.strategy.moe_dispatcher == MoeDispatcher::deepep) {
    const int domains = c_.group(Axis::ep).domains;
    const double load = static_cast<double>(shape_.received) / static_cast<double>(shape_.copies);
    const double row = static_cast<double>(shape_.width * element) * static_cast<double>(shape_.tokens) * load;
    const Visited visited = visited_by_a_token(c_);
    work.bytes = rounded(visited.ranks * row);
    if (domains > 1) work.crossing = rounded(visited.domains * (domains - 1) / domains * row);
    // A graph keeps the kernels alone, and DeepEP's kernels for serving know their sizes beforehand.
    work.by_library = c_.strategy.cuda_graphs != spec::CudaGraphs::whole && !c_.serves;
  }
  if (c_.strategy.ep > 1 && c_.strategy.etp > 1 && behind_) {
    out_.communicate(work, name, stream, channel, {Stream::compute, *behind_});
  } else {
    out_.communicate(work, name, stream, channel, {Stream::compute});
  }
  behind_ = stream;
}

void MoeLayer::exchange_over_etp(CollectiveKind kind, std::string_view name) {
  if (c_.strategy.etp == 1) return;
  exchange(kind, Axis::etp, Stream::tp, shape_.rows, c_.element, name);
  out_.join(Stream::tp);
}

void MoeLayer::send_to_experts(std::string_view name, std::int64_t element) {
  if (c_.strategy.ep == 1) return;
  if (c_.strategy.moe_dispatcher == MoeDispatcher::allgather) {
    return exchange(CollectiveKind::all_gather, Axis::ep, Stream::ep, shape_.tokens * c_.strategy.ep, element, name);
  }
  exchange(CollectiveKind::all_to_all, Axis::ep, Stream::ep, shape_.received, element, name);
}

void MoeLayer::send_back(std::string_view name, std::int64_t element) {
  if (c_.strategy.ep == 1) return;
  if (c_.strategy.moe_dispatcher == MoeDispatcher::allgather) {
    exchange(CollectiveKind::reduce_scatter, Axis::ep, Stream::ep, shape_.tokens * c_.strategy.ep, element, name);
  } else {
    exchange(CollectiveKind::all_to_all, Axis::ep, Stream::ep, shape_.received, element, name);
  }
}

void MoeLayer::router_forward(bool again) {
  const std::int64_t scores = shape_.tokens * c_.model.moe->experts;
  out_.compute(Matmul{shape_.tokens, c_.model.moe->experts, c_.hidden, 1, c_.operand, spec::Dtype::fp32, false},
               "router");
  const int kernels = c_.job.framework.router_kernels;
  const int launches = std::max(kernels, c_.job.framework.router_launches);
  out_.compute(router_chain(scores, kernels), "router top-k", launches);
  if (!counts_behind_rows(c_) && !again) read_counts();
}

void MoeLayer::read_counts() {
  if (shape_.counted_by_host) out_.compute(HostSync{}, "tokens by expert read by the host", 0);
}

/// What each rank will receive is known to the host when the ranks have told each other (torchtitan's _token_dispatch).
void MoeLayer::exchange_counts() {
  if (!counts_behind_rows(c_) || !shape_.counted_by_host) return;
  const std::int16_t channel = out_.pool().channel({Channel::Kind::group, Axis::ep});
  const Collective counts{CollectiveKind::all_to_all, 4 * std::int64_t{c_.model.moe->experts}, c_.group(Axis::ep)};
  out_.communicate(counts, "counts of tokens", Stream::ep, channel, {Stream::compute});
  out_.join(Stream::ep);
  read_counts();
}

void MoeLayer::router_backward() {
  const std::int64_t scores = shape_.tokens * c_.model.moe->experts;
  const int kernels = c_.job.framework.router_gradient_kernels;
  const int launches = std::max(kernels, c_.job.framework.router_gradient_launches);
  out_.compute(router_chain(scores, kernels), "router top-k gradient", launches);
  linear_.full_backward(
      {.name = "router", .in = c_.hidden, .out = c_.model.moe->experts, .rows = shape_.tokens, .wide = true});
}

void MoeLayer::shared_forward() {
  if (shape_.shared_ffn == 0) return;
  linear_.column_forward(shared_expert_up(c_, shape_));
  const Chain activation = activation_forward(c_, c_.tokens, shape_.shared_ffn);
  out_.compute(activation.work, "shared expert activation", activation.launches);
  linear_.row_forward(shared_expert_down(c_, shape_));
  gate_shared(false);
}

/// A product of the layer's input with one vector, its sigmoid, and what the shared experts give times that.
void MoeLayer::gate_shared(bool backward) {
  if (!c_.model.moe->shared_gate) return;
  const Chain gate = chain(MemoryBound::Kind::elementwise, shape_.tokens * c_.hidden, backward ? 8.0 : 4.0,
                           backward ? 4.0 : 2.0, backward ? 5 : 3);
  out_.compute(gate.work, backward ? "shared expert scale gradient" : "shared expert scale", gate.launches);
}

void MoeLayer::shared_backward() {
  if (shape_.shared_ffn == 0) return;
  gate_shared(true);
  linear_.row_backward(shared_expert_down(c_, shape_));
  const Chain activation = activation_backward(c_, c_.tokens, shape_.shared_ffn);
  out_.compute(activation.work, "shared expert activation gradient", activation.launches);
  linear_.column_backward(shared_expert_up(c_, shape_));
}

/// Of the router, the routed experts and the shared ones, by the operation.
void MoeLayer::add_input_gradients() {
  const int branches = shape_.shared_ffn > 0 ? 3 : 2;
  const Chain sum = gradient_sum(c_, c_.shard_tokens * c_.hidden, branches);
  out_.compute(sum.work, "routed branches gradient", sum.launches);
}

void MoeLayer::add_shared() {
  if (shape_.shared_ffn == 0) return;
  const std::int64_t row = c_.hidden * c_.element;
  out_.compute(MemoryBound{MemoryBound::Kind::copy, 2 * shape_.tokens * row, shape_.tokens * row, 1},
               "shared expert add");
}

void MoeLayer::add_biases(std::string_view name, std::int64_t width, bool last) {
  if (fuses()) return;
  const Chain added = expert_biases(c_, shape_.rows, width, shape_.experts, last);
  if (c_.model.bias && added.work.read > 0) out_.compute(added.work, name, added.launches);
}

bool MoeLayer::fuses() const { return c_.fused_experts && narrow(c_, out_.layer); }

Linear MoeLayer::up() const {
  Linear linear = expert_up(c_, shape_);
  linear.takes_narrow_gradient = fuses();
  return linear;
}

Linear MoeLayer::down() const {
  Linear linear = expert_down(c_, shape_);
  linear.takes_narrow = fuses();
  return linear;
}

void MoeLayer::activate() {
  if (fuses()) return;  // hidden behind the matmul's own math
  const Chain activation = activation_forward(c_, shape_.rows, shape_.ffn);
  out_.compute(activation.work, "expert activation", activation.launches);
}

/// The kernel of the last matmul's input gradient goes on to read what the activation read and to write its gradient
/// in both layouts. A GB200 takes for that what the bytes take, beside the math: 1.381 ms of which a matmul alone is
/// 0.81 (262,144 rows of 1,280), 4.17 of which it is 2.82 (of 2,560; marin-community/marin,
/// .agents/logbooks/mxfp8-blackwell.md).
void MoeLayer::activate_backward() {
  if (!fuses()) {
    const Chain activation = activation_backward(c_, shape_.rows, shape_.ffn);
    return out_.compute(activation.work, "expert activation gradient", activation.launches);
  }
  const auto numbers = static_cast<double>(shape_.rows * shape_.up_width);
  const double written = numbers * operand_layouts(c_) * narrow_bytes(c_);
  out_.compute(
      MemoryBound{MemoryBound::Kind::cast, rounded(numbers * static_cast<double>(c_.element)), rounded(written), 0},
      "expert activation gradient", 0);
}

void MoeLayer::inner_forward() {
  if (!copies_first()) rows_.permute_received();
  exchange_over_etp(CollectiveKind::all_gather, "expert all-gather");
  rows_.pad();
  linear_.full_forward(up(), Side::column);
  add_biases("expert up biases added", shape_.up_width, false);
  activate();
}

void MoeLayer::outer_forward() {
  linear_.full_forward(down(), Side::row);
  add_biases("expert down biases added", shape_.width, true);
  rows_.unpad();
}

void MoeLayer::forward() {
  const bool parallel = c_.strategy.ep > 1;
  const std::int64_t buffers = moe_exchange_bytes(c_);
  behind_.reset();
  router_forward();
  if (!c_.overlap_shared_expert) shared_forward();
  if (latent()) linear_.full_forward(latent_down(c_, shape_));
  out_.take(Category::workspace, buffers);
  if (copies_first()) rows_.permute_copies();
  exchange_counts();
  send_to_experts("expert dispatch", shape_.dispatch_element);
  if (c_.overlap_shared_expert) shared_forward();
  if (parallel) out_.join(Stream::ep);
  inner_forward();
  outer_forward();
  exchange_over_etp(CollectiveKind::reduce_scatter, "expert reduce-scatter");
  if (!copies_first()) rows_.unpermute(shape_.received, shape_.tokens, "unpermute");
  send_back("expert combine", shape_.combine_element);
  if (parallel) out_.join(Stream::ep);
  if (copies_first()) rows_.unpermute(shape_.copies, shape_.tokens, "unpermute");
  if (latent()) linear_.full_forward(latent_up(c_, shape_));
  add_shared();
  out_.give(Category::workspace, buffers);
}

void MoeLayer::shared_forward_again(const KeptMatmuls& keeps) {
  if (shape_.shared_ffn == 0) return;
  if (c_.model.gated_mlp) {  // one of the two is kept
    const char* name = keeps("shared expert gate") ? "shared expert up" : "shared expert gate";
    linear_.column_forward({name, c_.hidden, shape_.shared_ffn, c_.model.bias});
  } else {
    linear_.column_forward_again(shared_expert_up(c_, shape_), keeps("shared expert up"));
  }
  const Chain activation = activation_forward(c_, c_.tokens, shape_.shared_ffn);
  out_.compute(activation.work, "shared expert activation", activation.launches);
}

void MoeLayer::forward_again(const KeptMatmuls& keeps) {
  const bool sent = keeps_exchanged(c_);
  const std::int64_t buffers = moe_exchange_bytes(c_);
  behind_.reset();
  router_forward(true);
  out_.take(Category::workspace, buffers);
  // What was sent is read by nobody once it has arrived: a compiler leaves its copies out.
  if (copies_first() && !(sent && compiles_experts(c_))) rows_.permute_copies();
  if (!sent && c_.strategy.ep > 1) {
    send_to_experts("expert dispatch", shape_.dispatch_element);
    out_.join(Stream::ep);
  }
  inner_forward();
  if (runs_down_again(c_)) outer_forward();
  if (weighs_results_again(c_)) {
    exchange_over_etp(CollectiveKind::reduce_scatter, "expert reduce-scatter");
    if (copies_first() && c_.strategy.ep > 1) {
      send_back("expert combine", shape_.combine_element);
      out_.join(Stream::ep);
    }
  }
  if (weighs_wide(c_)) rows_.widen_again();
  out_.give(Category::workspace, buffers);
  shared_forward_again(keeps);
}

bool runs_down_again(const Context& c) {
  return weighs_results_again(c) || (c.model.moe->shared_ffn > 0 && !compiles_experts(c));
}

KeptOfExperts kept_of_experts(const Context& c, const KeptMatmuls& keeps) {
  const MoeShape shape(c);
  const std::int64_t row = c.hidden * c.element, tokens = c.tokens * row, shard = c.shard_tokens * row;
  KeptOfExperts out;
  if (keeps_exchanged(c)) {
    const bool once = c.strategy.moe_dispatcher == MoeDispatcher::deepep;  // a token for each rank, and one sum back
    const double load = static_cast<double>(shape.received) / static_cast<double>(shape.copies);
    const double visits = visited_by_a_token(c).ranks * static_cast<double>(shape.tokens) * load;
    out.read += (once ? rounded(visits) : shape.received) * row;
    (c.fused_permute || once ? out.unread : out.read) += once ? shard : shape.copies * row;
  } else if (c.strategy.ep > 1 && c.strategy.moe_dispatcher == MoeDispatcher::allgather) {
    out.unread += shard;  // the reduce-scatter of what was gathered
  }
  if (c.strategy.etp > 1) out.unread += shape.received * row;  // that of a rank's experts
  if (shape.shared_ffn == 0) return out;
  const std::int64_t inner = c.tokens * shape.shared_ffn * c.element;
  if (c.model.gated_mlp && keeps("shared expert gate")) out.read += inner;
  if (keeps("shared expert up")) out.read += inner;
  if (keeps("shared expert down")) out.unread += tokens;
  if (c.sp) out.unread += shard;
  return out;
}

void MoeLayer::backward() {
  behind_.reset();
  const bool parallel = c_.strategy.ep > 1;
  const std::int64_t buffers = moe_exchange_bytes(c_);
  if (latent()) linear_.full_backward(latent_up(c_, shape_));
  out_.take(Category::workspace, buffers);
  if (copies_first()) rows_.unpermute_gradient(shape_.tokens, shape_.copies, "unpermute gradient");
  send_to_experts("expert combine gradient", shape_.combine_element);
  if (c_.overlap_shared_expert) shared_backward();
  if (parallel) out_.join(Stream::ep);
  if (!copies_first()) rows_.unpermute_gradient(shape_.received, shape_.received, "unpermute gradient");
  exchange_over_etp(CollectiveKind::all_gather, "expert gradient all-gather");
  rows_.unpad_gradient();

  linear_.full_backward(down(), Side::row);
  activate_backward();
  linear_.full_backward(up(), Side::column);

  rows_.pad_gradient();
  exchange_over_etp(CollectiveKind::reduce_scatter, "expert gradient reduce-scatter");
  if (!copies_first()) rows_.sum_up(shape_.received, shape_.received, "permute gradient");
  send_back("expert dispatch gradient", shape_.combine_element);
  if (!c_.overlap_shared_expert) shared_backward();
  out_.run_weights();
  if (parallel) out_.join(Stream::ep);
  if (copies_first()) rows_.sum_up(shape_.copies, shape_.tokens, "permute gradient");
  if (latent()) linear_.full_backward(latent_down(c_, shape_));
  router_backward();
  add_input_gradients();
  out_.give(Category::workspace, buffers);
}

}  // namespace plan
