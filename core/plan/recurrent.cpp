// SPDX-License-Identifier: Apache-2.0
#include "core/plan/recurrent.h"

#include "core/plan/elementwise.h"
#include "core/spec/parameters.h"

namespace plan {
namespace {

using Kind = MemoryBound::Kind;

/// Widths of one rank: before tokens are traded for heads of its tensor-parallel share, behind it (`ranks` = cp) of a
/// context-parallel share of that.
struct Widths {
  std::int64_t heads, value, key, conv, in;
};

Widths widths(const Context& c, int ranks = 1) {
  const spec::Recurrent& r = *c.model.recurrent;
  const std::int64_t cut = std::int64_t{c.tp} * ranks;
  return {r.heads / cut, r.value_width() / cut, r.key_width() / cut, r.conv_width() / cut, r.in_width() / cut};
}

bool is_delta(const Context& c) { return c.model.recurrent->kind == spec::Recurrent::Kind::gated_delta; }

/// Tokens that a rank scans: whole sequences.
std::int64_t scanned(const Context& c) { return c.tokens * c.cp; }

/// Of queries and keys once each head of values has its own: what the delta rule's kernels read.
std::int64_t expanded_keys(const Context& c, int ranks) { return widths(c, ranks).heads * c.model.recurrent->state; }

/// Megatron's tensors have the sequence in front, kernels want it behind the batch. Its projections are joined ones.
bool turns_batch(const Context& c) { return c.batch > 1 && !c.job.framework.separate_linears; }

}  // namespace

Linear recurrent_in(const Context& c) { return {"recurrent input", c.hidden, widths(c).in}; }
Linear recurrent_out(const Context& c) { return {"recurrent output", widths(c).value, c.hidden}; }

RecurrentMixer::RecurrentMixer(const Context& c, SegmentBuilder& out) : c_(c), out_(out) {}

void RecurrentMixer::trade(std::int64_t width, std::string_view name) {
  if (c_.cp == 1) return;
  const std::int16_t channel = out_.pool().channel({Channel::Kind::group, Axis::cp});
  const Collective work{CollectiveKind::all_to_all, c_.tokens * width * c_.element, c_.group(Axis::cp)};
  out_.communicate(work, name, Stream::cp, channel, {Stream::compute});
  out_.join(Stream::cp);
}

void RecurrentMixer::turn(std::int64_t width, std::string_view name) {
  if (turns_batch(c_)) out_.compute(copy_of(c_, scanned(c_) * width).work, name);
}

/// Depthwise, with its activation: one kernel. Its backward makes the activation again; Mamba-2's whole forward is run
/// again there, for its result is not kept.
void RecurrentMixer::convolution(bool backward) {
  const std::int64_t numbers = scanned(c_) * widths(c_, c_.cp).conv;
  if (backward && !is_delta(c_)) {
    const Chain again = chain(Kind::elementwise, numbers, 2.0, 2.0, 1);
    out_.compute(again.work, "recurrent convolution again", again.launches);
  }
  const Chain one = chain(Kind::elementwise, numbers, backward ? 4.0 : 2.0, 2.0, 1);
  out_.compute(one.work, backward ? "recurrent convolution gradient" : "recurrent convolution", one.launches);
}

/// What the delta rule wants of its inputs: queries and keys of length one, for each head of values, all made
/// contiguous, and decays and strengths from the steps.
void RecurrentMixer::steps(bool backward) {
  if (!is_delta(c_)) return;
  const Widths w = widths(c_, c_.cp);
  const std::int64_t t = scanned(c_), keys = 2 * t * w.key * c_.element;
  const std::int64_t wide = (2 * expanded_keys(c_, c_.cp) + w.value) * t * c_.element;
  const std::int64_t narrow = keys + w.value * t * c_.element;
  out_.compute(MemoryBound{Kind::norm, backward ? 2 * keys : keys, keys, 1},
               backward ? "recurrent keys norm gradient" : "recurrent keys norm");
  const auto move = backward ? MemoryBound{Kind::reduce, wide, narrow, 3} : MemoryBound{Kind::copy, narrow, wide, 3};
  out_.compute(move, backward ? "recurrent keys gradient summed over heads" : "recurrent keys copied to heads", 3);
  const Chain gates = chain(Kind::elementwise, 2 * t * w.heads, backward ? 10.0 : 6.0, backward ? 6.0 : 4.0, 4);
  out_.compute(gates.work, backward ? "recurrent steps gradient" : "recurrent steps", gates.launches);
}

void RecurrentMixer::scan(bool backward) {
  const spec::Recurrent& r = *c_.model.recurrent;
  const Widths w = widths(c_, c_.cp);
  Recurrence work{.kind = r.kind,
                  .batch = c_.batch,
                  .length = c_.sequence,
                  .heads = static_cast<int>(w.heads),
                  .head_dim = r.head_dim,
                  .groups = static_cast<int>(is_delta(c_) ? w.heads : w.key / r.state),
                  .state = r.state,
                  .chunk = r.chunk,
                  .backward = backward,
                  .dtype = c_.storage};
  out_.compute(work, backward ? "recurrent scan gradient" : "recurrent scan", scan_kernels(work));
}

/// Mamba-2's gate is part of its scan, the norm a kernel of its own. The delta net's norm is followed by the gate.
void RecurrentMixer::gated_norm(bool backward) {
  const std::int64_t numbers = c_.tokens * widths(c_).value;
  const Chain one = chain(Kind::norm, numbers, backward ? 4.0 : 2.0, 2.0, 1);
  const Chain gate = chain(Kind::elementwise, numbers, backward ? 6.0 : 4.0, backward ? 4.0 : 2.0, 1);
  if (backward && is_delta(c_)) out_.compute(gate.work, "recurrent gate gradient", gate.launches);
  out_.compute(one.work, backward ? "recurrent output norm gradient" : "recurrent output norm", one.launches);
  if (!backward && is_delta(c_)) out_.compute(gate.work, "recurrent gate", gate.launches);
}

void RecurrentMixer::forward(bool to_its_end) {
  const Widths own = widths(c_, c_.cp);
  TensorParallel linear(c_, out_);
  linear.column_forward(recurrent_in(c_));
  trade(widths(c_).in, "recurrent input all-to-all");
  turn(own.in, "recurrent input turned");
  convolution(false);
  steps(false);
  scan(false);
  turn(own.value, "recurrent output turned");
  trade(widths(c_).value, "recurrent output all-to-all");
  gated_norm(false);
  if (to_its_end) linear.row_forward(recurrent_out(c_));
}

void RecurrentMixer::backward() {
  const Widths own = widths(c_, c_.cp);
  TensorParallel linear(c_, out_);
  linear.row_backward(recurrent_out(c_));
  gated_norm(true);
  trade(widths(c_).value, "recurrent output gradient all-to-all");
  turn(own.value, "recurrent output gradient turned");
  scan(true);
  steps(true);
  convolution(true);
  turn(own.in, "recurrent input gradient turned");
  trade(widths(c_).in, "recurrent input gradient all-to-all");
  linear.column_backward(recurrent_in(c_));
}

std::int64_t recurrent_matrices(const Context& c) { return c.hidden * (widths(c).in + widths(c).value); }

std::int64_t recurrent_parameters(const Context& c) {
  const spec::Recurrent& r = *c.model.recurrent;
  const std::int64_t norm = spec::recurrent_norm(c.model);
  const std::int64_t vectors = spec::recurrent_vectors(c.model) / c.tp;
  return recurrent_matrices(c) + vectors + (r.kind == spec::Recurrent::Kind::mamba2 ? norm / c.tp : norm);
}

/// mamba2: what the projection in made, from which its backward starts; the scan's result before the gate, behind it
/// (twice, where it is turned), and behind the norm. gated_delta: what the projection and the convolution made, keys
/// behind their norm, queries and keys of each head with the values, decays and strengths in fp32, of each head a row
/// of the inverse of its chunk's triangle, the scan's result, it behind the norm, and gated.
std::int64_t recurrent_activations(const Context& c) {
  const spec::Recurrent& r = *c.model.recurrent;
  const Widths w = widths(c);
  if (!is_delta(c)) return c.tokens * (w.in + (turns_batch(c) ? 4 : 3) * w.value) * c.element;
  const std::int64_t inputs = w.in + w.conv + 2 * w.key + 2 * expanded_keys(c, 1) + w.value;
  return c.tokens * ((inputs + w.heads * r.chunk + 3 * w.value) * c.element + 2 * w.heads * 4);
}

}  // namespace plan
