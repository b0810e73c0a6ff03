// kernels/vendor/attention_graph.cpp -- see attention_graph.h. cuDNN's engines know attention by its form, so the order
// of the operations here is theirs. SPDX-License-Identifier: Apache-2.0
#include "kernels/vendor/attention_graph.h"

#include <utility>

namespace kernels::vendor {
namespace {

constexpr auto kHalf = CUDNN_DATA_BFLOAT16;
constexpr auto kFloat = CUDNN_DATA_FLOAT;

/// [batch, length, heads, dim] in memory, seen as [batch, heads, length, dim].
struct Layout {
  Sizes size, stride;

  Layout(std::int64_t batch, std::int64_t heads, std::int64_t length, std::int64_t dim)
      : size{batch, heads, length, dim}, stride{length * heads * dim, dim, heads * dim, 1} {}
  Layout transposed() const {
    Layout other = *this;
    std::swap(other.size[2], other.size[3]);
    std::swap(other.stride[2], other.stride[3]);
    return other;
  }
};

class Writer {
 public:
  explicit Writer(const Attention& a)
      : a_(a),
        q_(a.batch, a.heads, a.queries, a.head_dim),
        k_(a.batch, a.kv_heads, a.keys, a.head_dim),
        v_(a.batch, a.kv_heads, a.keys, a.value_dim),
        out_(a.batch, a.heads, a.queries, a.value_dim) {
    check_attention(a);
  }

  AttentionGraph forward() {
    g_.q = half(q_);
    g_.k = half(k_.transposed());
    g_.v = half(v_);
    g_.out = half(out_);
    g_.lse = graph().in_memory(row_, packed(row_), kFloat);
    g_.scale = graph().scalar();
    const Tensor scores = masked(multiply(product(g_.q, g_.k), g_.scale));
    const Tensor maximum = reduced(CUDNN_REDUCE_TENSOR_MAX, scores);
    const Tensor weights = exponential(graph().pointwise(CUDNN_POINTWISE_SUB, scores, maximum));
    const Tensor total = reduced(CUDNN_REDUCE_TENSOR_ADD, weights);
    graph().pointwise(CUDNN_POINTWISE_ADD, maximum, graph().pointwise(CUDNN_POINTWISE_LOG, total), g_.lse);
    graph().matmul(graph().pointwise(CUDNN_POINTWISE_DIV, weights, total, kHalf), g_.v, g_.out);
    return std::move(g_);
  }

  AttentionGraph backward() {
    declare_backward();
    graph().pointwise(CUDNN_POINTWISE_MUL, row_sums(g_.dout, g_.out), g_.one, g_.delta);
    const Tensor scores = multiply(product(g_.q, g_.k), g_.scale);
    const Tensor p = exponential(masked(graph().pointwise(CUDNN_POINTWISE_SUB, scores, g_.lse)));
    gradient_of_keys(transposed(p), g_.dout, g_.dv);
    const Tensor dp = graph().pointwise(CUDNN_POINTWISE_SUB, product(g_.dout, g_.v), g_.delta);
    const Tensor ds = graph().pointwise(CUDNN_POINTWISE_MUL, multiply(dp, p), g_.scale, kHalf);
    gradient_of_keys(transposed(ds), g_.q, g_.dk);
    const Tensor k = graph().inner(k_.size, k_.stride, kHalf);
    graph().reshape(g_.k, k);
    graph().matmul(ds, k, g_.dq_sum);
    graph().pointwise(CUDNN_POINTWISE_IDENTITY, g_.dq_sum, {}, g_.dq);
    return std::move(g_);
  }

 private:
  void declare_backward() {
    g_.q = half(q_);
    g_.k = half(k_.transposed());
    g_.v = half(v_.transposed());
    g_.out = half(out_);
    g_.dout = half(out_);
    g_.dq = half(q_);
    g_.dk = half(k_);
    g_.dv = half(v_);
    g_.lse = graph().in_memory(row_, packed(row_), kFloat);
    g_.delta = graph().in_memory(row_, packed(row_), kFloat);
    g_.dq_sum = graph().in_memory(q_.size, packed(q_.size), kFloat);
    g_.scale = graph().scalar();
    g_.one = graph().scalar();
  }

  Graph& graph() { return g_.graph; }
  Tensor half(const Layout& l) { return graph().in_memory(l.size, l.stride, kHalf); }
  Tensor multiply(const Tensor& x, const Tensor& y) { return graph().pointwise(CUDNN_POINTWISE_MUL, x, y); }
  Tensor exponential(const Tensor& x) { return graph().pointwise(CUDNN_POINTWISE_EXP, x); }
  Tensor product(const Tensor& a, const Tensor& b) {
    const Tensor result = graph().inner(square_);
    graph().matmul(a, b, result);
    return result;
  }
  Tensor reduced(cudnnReduceTensorOp_t how, const Tensor& x) {
    const Tensor result = graph().inner(row_);
    graph().reduce(how, x, result);
    return result;
  }
  Tensor row_sums(const Tensor& x, const Tensor& y) {
    const Tensor both = graph().inner(out_.size, out_.stride, kFloat);
    graph().pointwise(CUDNN_POINTWISE_MUL, x, y, both);
    return reduced(CUDNN_REDUCE_TENSOR_ADD, both);
  }
  Tensor masked(const Tensor& scores) {
    if (!a_.causal) return scores;
    g_.nothing = graph().scalar();
    return graph().lower_triangle(scores, g_.nothing);
  }
  /// [.., keys, queries] in bf16 of what is [.., queries, keys].
  Tensor transposed(const Tensor& x) {
    const std::int64_t queries = a_.queries, keys = a_.keys;
    const Tensor result =
        graph().inner({a_.batch, a_.heads, keys, queries}, {a_.heads * queries * keys, queries * keys, 1, keys}, kHalf);
    graph().reshape(x, result);
    return result;
  }
  /// Summed over the query heads that share a K/V head.
  void gradient_of_keys(const Tensor& weights, const Tensor& rows, const Tensor& gradient) {
    if (a_.heads == a_.kv_heads) return graph().matmul(weights, rows, gradient);
    const Tensor every_head = graph().inner({a_.batch, a_.heads, a_.keys, rows.size[3]}, kHalf);
    graph().matmul(weights, rows, every_head);
    graph().reduce(CUDNN_REDUCE_TENSOR_ADD, every_head, gradient);
  }

  Attention a_;
  Layout q_, k_, v_, out_;
  Sizes square_{a_.batch, a_.heads, a_.queries, a_.keys}, row_{a_.batch, a_.heads, a_.queries, 1};
  AttentionGraph g_;
};

}  // namespace

void check_attention(const Attention& a) {
  if (a.causal && a.offset != 0) throw DeviceError("attention by cuDNN: a causal mask with an offset is not supported");
  if (a.window != 0) throw DeviceError("attention by cuDNN: a window is not supported");
  if (a.alibi.heads > 0) throw DeviceError("attention by cuDNN: linear biases (ALiBi) are not supported");
  if (a.dropout.probability > 0)
    throw DeviceError("attention by cuDNN: dropout by the place of a score is not supported");
}

AttentionGraph attention_forward_graph(const Attention& a) { return Writer(a).forward(); }
AttentionGraph attention_backward_graph(const Attention& a) { return Writer(a).backward(); }

}  // namespace kernels::vendor
