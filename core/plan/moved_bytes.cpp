// SPDX-License-Identifier: Apache-2.0
#include "core/plan/moved_bytes.h"

namespace plan {
namespace {

std::int64_t bytes_of(double elements, double element) { return static_cast<std::int64_t>(elements * element); }

struct Moved {
  std::int64_t operator()(const Matmul& w) const {
    const double m = static_cast<double>(w.m), n = static_cast<double>(w.n), k = static_cast<double>(w.k);
    const double batch = static_cast<double>(w.batch);
    const double passes = w.accumulates ? 2 : 1;
    return bytes_of(batch * (m * k + k * n), spec::bytes_of(w.dtype)) +
           bytes_of(batch * m * n * passes, spec::bytes_of(w.out));
  }
  std::int64_t operator()(const Attention& w) const {
    const double batch = static_cast<double>(w.batch), q = static_cast<double>(w.q_len),
                 kv = static_cast<double>(w.kv_len);
    const double queries = batch * q * w.heads * (w.head_dim + w.value_dim());
    const double keys = batch * kv * w.kv_heads * (w.head_dim + (w.values_in_keys ? 0 : w.value_dim()));
    // Backward reads queries, keys, values, output and its gradient, and writes three gradients.
    const double element = spec::bytes_of(w.dtype);
    const double of_keys = w.kv_element > 0 ? static_cast<double>(w.kv_element) : element;
    return bytes_of(queries * (w.backward ? 2 : 1), element) + bytes_of(keys * (w.backward ? 2 : 1), of_keys);
  }
  std::int64_t operator()(const Convolution& w) const {
    const double samples = static_cast<double>(w.batch), in = static_cast<double>(w.in),
                 out = static_cast<double>(w.out);
    const double size = static_cast<double>(w.size), out_size = static_cast<double>(w.out_size());
    const double weights = in * out * w.kernel * w.kernel / static_cast<double>(w.groups);
    return bytes_of(samples * (size * size * in + out_size * out_size * out) + weights, spec::bytes_of(w.storage));
  }
  /// Values and their output, keys and queries; backward also reads the output's gradient and writes three.
  std::int64_t operator()(const Recurrence& w) const {
    const double vectors = 2.0 * w.heads * w.head_dim + 2.0 * w.groups * w.state;
    return bytes_of(static_cast<double>(w.batch * w.length) * vectors * (w.backward ? 2 : 1), spec::bytes_of(w.dtype));
  }
  /// Queries and keys, and in fp32 a score of each pair; backward also their gradients.
  std::int64_t operator()(const IndexScores& w) const {
    const double vectors = static_cast<double>(w.batch) * w.head_dim *
                           (static_cast<double>(w.q_len) * w.heads + static_cast<double>(w.kv_len));
    return bytes_of(vectors * (w.backward ? 2 : 1), spec::bytes_of(w.dtype)) + bytes_of(pairs_of(w), 4);
  }
  std::int64_t operator()(const MemoryBound& w) const { return w.read + w.written; }
  std::int64_t operator()(const Collective& w) const { return w.bytes; }
  std::int64_t operator()(const Transfer& w) const { return w.bytes; }
  std::int64_t operator()(const RatedCopy& w) const { return w.bytes; }
  std::int64_t operator()(const HostSync&) const { return -1; }
};

}  // namespace

std::int64_t moved_bytes(const Work& work) { return std::visit(Moved{}, work); }

}  // namespace plan
