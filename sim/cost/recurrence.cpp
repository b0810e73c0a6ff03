// sim/cost/recurrence.cpp -- the formula of the header.
// SPDX-License-Identifier: Apache-2.0
#include "sim/cost/recurrence.h"

#include <cmath>

#include "sim/cost/curves.h"

namespace sim {
namespace {

constexpr double kWide = 4;  // bytes of fp32

/// Of one token: its vectors over all heads of values, over all groups of keys, and what it shares with its chunk.
struct OfToken {
  double values, keys;  // bytes of a tensor of storage
  double states;        // of the states, a chunk's divided among its tokens, in storage
  double squares;       // of a row of the chunk's products, one a group, in storage
};

OfToken of_token(const plan::Recurrence& w) {
  const double element = spec::bytes_of(w.dtype), heads = w.heads, groups = w.groups;
  return {.values = heads * w.head_dim * element,
          .keys = groups * w.state * element,
          .states = heads * w.head_dim * w.state / w.chunk * element,
          .squares = groups * w.chunk * element};
}

/// Forward: states of each chunk (keys, values; written in fp32), passed on (read and written in fp32), products of
/// keys and queries (fp32), output (values, gate, queries, products, states; two results). Backward: states again, the
/// output's gradients by chunk, states' gradients passed back, those of keys, queries and values.
double mamba2_bytes(const plan::Recurrence& w) {
  const OfToken t = of_token(w);
  const double wide = kWide / spec::bytes_of(w.dtype);
  const double states = t.states * wide, squares = t.squares * wide;
  const double forward = (t.values + t.keys + states) + 2 * states + (2 * t.keys + squares) +
                         (2 * t.values + t.keys + squares + states + 2 * t.values);
  if (!w.backward) return forward;
  const double again = (t.values + t.keys + states) + 2 * states + (2 * t.keys + squares);
  const double gradients = (t.values + t.keys + states)  // of the states, by the output's gradient
                           + 3 * states                  // passed back
                           + (3 * t.values + 2 * t.keys + squares + states + 2 * t.values)  // of values and steps
                           + (2 * t.values + 2 * states + 2 * wide * t.keys)    // of keys and queries, a sum over heads
                           + (2 * t.values + squares) + (squares + 4 * t.keys)  // through the products
                           + 4 * t.values;                                      // the gate's
  return again + gradients;
}

/// Forward: products of keys with keys (fp32), the inverse of their triangle, keys and values through it, states by
/// chunk with what each adds, output. Backward: the first of these again, then the gradients in their order.
double gated_delta_bytes(const plan::Recurrence& w) {
  const OfToken t = of_token(w);
  const double products = (t.keys + 2 * t.squares) + (2 * t.squares + t.squares);
  const double through = t.keys + t.values + t.squares + t.keys + t.values;
  const double states = t.keys + t.keys + t.values + t.states + t.values;
  const double output = 2 * t.keys + t.values + t.states + t.values;
  if (!w.backward) return products + through + states + output;
  const double of_output = 2 * t.keys + 2 * t.values;
  const double of_states = 2 * t.keys + t.keys + 3 * t.values + 2 * t.states;
  const double of_products = 3 * t.keys + 3 * t.values + 2 * t.states + 6 * t.keys;
  const double of_triangle = t.squares + 2 * t.keys + 2 * t.values + 2 * t.keys + 2 * t.values + 2 * t.keys;
  return through + states + of_output + of_states + of_products + of_triangle;
}

}  // namespace

double scan_bytes(const plan::Recurrence& w) {
  const double tokens = static_cast<double>(w.batch * w.length);
  return tokens * (w.kind == spec::Recurrent::Kind::mamba2 ? mamba2_bytes(w) : gated_delta_bytes(w));
}

Price price_recurrence(const plan::Recurrence& w, const Device& device) {
  const spec::RecurrenceCurve& curve = recurrence_curve(device.calibration, w.kind);
  const double fraction = w.backward ? curve.backward : curve.forward;
  const double chunks = std::ceil(static_cast<double>(w.length) / w.chunk);
  const base::Seconds in_turn = (w.backward ? curve.backward_chunk : curve.chunk) * chunks;
  const base::Seconds moving(scan_bytes(w) / (fraction * device.gpu.hbm.si()));
  return {curve.overhead * plan::scan_kernels(w) + in_turn + moving, curve.from.residual};
}

}  // namespace sim
