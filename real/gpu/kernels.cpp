// real/gpu/kernels.cpp -- the GPU backend's kernels: launches of kernels::gpu on the current stream.
// SPDX-License-Identifier: Apache-2.0
#include <stdexcept>

#include "kernels/convert.h"
#include "kernels/gradient_norm.h"
#include "kernels/rows.h"
#include "real/gpu/gpu_backend.h"
#include "real/measure/element.h"

namespace real {

namespace gpu = kernels::gpu;

namespace {

kernels::Element element(const Tensor& t) { return element_of(t.meaning); }

/// In units of two elements. REQUIRES: runs of an even length, even strides between them.
kernels::StridedCopy in_pairs(kernels::StridedCopy c) {
  c.size[3] /= 2;
  for (int d = 0; d < 3; ++d) {
    c.from_stride[d] /= 2;
    c.to_stride[d] /= 2;
  }
  return c;
}

}  // namespace

void GpuBackend::fill(const Tensor& t, double value) {
  if (value != 0) throw std::logic_error("the GPU backend fills with zeros alone");
  if (t.count == 0) return;
  const auto bytes = static_cast<std::size_t>(t.count * bytes_of(t.meaning));
  launch([&] { check(cudaMemsetAsync(at(t), 0, bytes, raw()), "cudaMemsetAsync"); });
}

void GpuBackend::copy_codes(const Tensor& x, const Tensor& y) {
  if (y.meaning != Meaning::code) throw std::logic_error("codes are copied as codes alone");
  const auto bytes = static_cast<std::size_t>(x.count * bytes_of(x.meaning));
  launch([&] { check(cudaMemcpyAsync(at(y), at(x), bytes, cudaMemcpyDeviceToDevice, raw()), "cudaMemcpyAsync"); });
}

void GpuBackend::add_sum(const Tensor& x, const Tensor& y) {
  if (x.count != 1 || y.meaning != Meaning::sum) throw std::logic_error("a sum is added to one sum alone");
  launch([&] { gpu::add_total(as<double>(x), as<double>(y), raw()); });
}

void GpuBackend::scale_add(double alpha, const Tensor& x, double beta, const Tensor& y) {
  if (x.count == 0) return;
  if (x.meaning == Meaning::sum && alpha == 1 && beta == 1) return add_sum(x, y);
  if (x.meaning == Meaning::code && alpha == 1 && beta == 0) return copy_codes(x, y);
  launch([&] { gpu::scale_add(x.count, alpha, element(x), at(x), beta, element(y), at(y), raw()); });
}

/// Numbers of several types are brought to one first.
void GpuBackend::sum(const Tensor& x, const Tensor& y, const Tensor& to) {
  if (to.count == 0) return;
  if (x.meaning != to.meaning || y.meaning != to.meaning) {
    copy(x, to);
    return add(y, to);
  }
  launch([&] { gpu::sum(to.count, element(to), at(x), at(y), at(to), raw()); });
}

void GpuBackend::strided_copy(const kernels::StridedCopy& copy, const Tensor& from, const Tensor& to) {
  if (from.meaning == Meaning::code) {  // raw pairs of bytes
    return launch([&] { gpu::strided_copy(in_pairs(copy), kernels::Element::bf16, at(from), at(to), raw()); });
  }
  launch([&] { gpu::strided_copy(copy, element(from), at(from), at(to), raw()); });
}

void GpuBackend::glu_forward(const kernels::Glu& g, const Tensor& gate_up, const Tensor& y) {
  if (g.rows == 0) return;
  launch([&] { gpu::glu_forward(g, element(y), at(gate_up), at(y), raw()); });
}

void GpuBackend::glu_backward(const kernels::Glu& g, const Tensor& gate_up, const Tensor& dy, const Tensor& dx) {
  if (g.rows == 0) return;
  launch([&] { gpu::glu_backward(g, element(dy), at(gate_up), at(dy), at(dx), raw()); });
}

void GpuBackend::gelu_forward(kernels::Gelu kind, const Tensor& x, const Tensor& y) {
  if (x.count == 0) return;
  launch([&] { gpu::gelu_forward(kind, x.count, element(x), at(x), at(y), raw()); });
}

void GpuBackend::gelu_backward(kernels::Gelu kind, const Tensor& x, const Tensor& dy, const Tensor& dx) {
  if (x.count == 0) return;
  launch([&] { gpu::gelu_backward(kind, x.count, element(x), at(x), at(dy), at(dx), raw()); });
}

void GpuBackend::relu_forward(kernels::Relu kind, const Tensor& x, const Tensor& y) {
  if (x.count == 0) return;
  launch([&] { gpu::relu_forward(kind, x.count, element(x), at(x), at(y), raw()); });
}

void GpuBackend::relu_backward(kernels::Relu kind, const Tensor& x, const Tensor& dy, const Tensor& dx) {
  if (x.count == 0) return;
  launch([&] { gpu::relu_backward(kind, x.count, element(x), at(x), at(dy), at(dx), raw()); });
}

void GpuBackend::normal(const kernels::Normal& n, const Tensor& y) {
  launch([&] { gpu::normal(n, as<float>(y), raw()); });
}

void GpuBackend::dropout(const kernels::Dropout& d, const Tensor& x, const Tensor& y) {
  if (x.count == 0) return;
  launch([&] { gpu::dropout(d, x.count, element(x), at(x), at(y), raw()); });
}

void GpuBackend::add_rows(std::int64_t rows, const Tensor& bias, const Tensor& y) {
  launch([&] { gpu::add_rows(rows, bias.count, element(y), at(bias), at(y), raw()); });
}

void GpuBackend::sum_rows(std::int64_t rows, const Tensor& dy, const Tensor& dbias) {
  launch([&] { gpu::sum_rows(rows, dbias.count, element(dy), at(dy), as<float>(dbias), raw()); });
}

void GpuBackend::norm_forward(const kernels::Norm& n, const Tensor& x, const Tensor& weight, const Tensor& bias,
                              const Tensor& y, const Tensor& mean, const Tensor& rstd) {
  launch([&] {
    gpu::norm_forward(n, element(x), at(x), nullptr, at(weight), at(bias), nullptr, at(y), as<float>(mean),
                      as<float>(rstd), raw());
  });
}

void GpuBackend::norm_backward(const kernels::Norm& n, const Tensor& x, const Tensor& weight, const Tensor& mean,
                               const Tensor& rstd, const Tensor& dy, const Tensor& dx, const Tensor& dweight,
                               const Tensor& dbias) {
  launch([&] {
    gpu::norm_backward(n, element(x), at(x), at(weight), as<float>(mean), as<float>(rstd), at(dy), nullptr, at(dx),
                       as<float>(dweight), as<float>(dbias), raw());
  });
}

void GpuBackend::rotary(const kernels::Rotary& r, kernels::Direction direction, const Tensor& positions,
                        const Tensor& from, const Tensor& to) {
  launch([&] { gpu::rotary(r, direction, element(to), as<std::int32_t>(positions), at(from), at(to), raw()); });
}

void GpuBackend::attention_merge(const kernels::Attention& a, const Tensor& other_out, const Tensor& other_lse,
                                 const Tensor& out, const Tensor& lse) {
  launch([&] {
    gpu::attention_merge(a, element(out), at(other_out), as<float>(other_lse), at(out), as<float>(lse), raw());
  });
}

void GpuBackend::attention_sinks_forward(const kernels::Attention& a, const Tensor& sinks, const Tensor& out,
                                         const Tensor& lse) {
  launch([&] { gpu::attention_sinks_forward(a, element(out), at(sinks), at(out), as<float>(lse), raw()); });
}

void GpuBackend::attention_sinks_backward(const kernels::Attention& a, const Tensor& sinks, const Tensor& out,
                                          const Tensor& lse, const Tensor& dout, const Tensor& dsinks) {
  launch([&] {
    gpu::attention_sinks_backward(a, element(out), at(sinks), at(out), as<float>(lse), at(dout), as<float>(dsinks),
                                  raw());
  });
}

void GpuBackend::embedding_forward(const kernels::Embedding& e, const Tensor& ids, const Tensor& table,
                                   const Tensor& y) {
  launch([&] { gpu::embedding_forward(e, element(y), as<std::int32_t>(ids), at(table), at(y), raw()); });
}

void GpuBackend::embedding_backward(const kernels::Embedding& e, const Tensor& ids, const Tensor& dy,
                                    const Tensor& dtable) {
  launch([&] { gpu::embedding_backward(e, element(dy), as<std::int32_t>(ids), at(dy), as<float>(dtable), raw()); });
}

void GpuBackend::cross_entropy_maximum(const kernels::CrossEntropy& c, const Tensor& logits, const Tensor& maximum) {
  launch([&] { gpu::cross_entropy_maximum(c, element(logits), at(logits), as<float>(maximum), raw()); });
}

void GpuBackend::cross_entropy_sums(const kernels::CrossEntropy& c, const Tensor& targets, const Tensor& logits,
                                    const Tensor& maximum, const Tensor& total, const Tensor& target_logit) {
  launch([&] {
    gpu::cross_entropy_sums(c, element(logits), as<std::int32_t>(targets), at(logits), as<float>(maximum),
                            as<float>(total), as<float>(target_logit), raw());
  });
}

void GpuBackend::cross_entropy_loss(const Tensor& targets, const Tensor& maximum, const Tensor& total,
                                    const Tensor& target_logit, const Tensor& loss) {
  launch([&] {
    gpu::cross_entropy_loss(loss.count, as<std::int32_t>(targets), as<float>(maximum), as<float>(total),
                            as<float>(target_logit), as<float>(loss), raw());
  });
}

void GpuBackend::cross_entropy_gradient(const kernels::CrossEntropy& c, const Tensor& targets, const Tensor& maximum,
                                        const Tensor& total, const Tensor& logits) {
  launch([&] {
    gpu::cross_entropy_gradient(c, element(logits), as<std::int32_t>(targets), as<float>(maximum), as<float>(total),
                                at(logits), raw());
  });
}

void GpuBackend::rescale_total(const Tensor& own, const Tensor& maximum, const Tensor& total) {
  launch([&] { gpu::rescale_total(total.count, as<float>(own), as<float>(maximum), as<float>(total), raw()); });
}

void GpuBackend::join_states(const kernels::JoinedStates& s, const Tensor& targets, const Tensor& own_maximum,
                             const Tensor& own_total, const Tensor& maximum, const Tensor& total,
                             const Tensor& target_rows, const Tensor& states) {
  launch([&] {
    gpu::join_states(s, element(states), as<std::int32_t>(targets), as<float>(own_maximum), as<float>(own_total),
                     as<float>(maximum), as<float>(total), at(target_rows), at(states), raw());
  });
}

void GpuBackend::router_forward(const kernels::Router& r, const Tensor& logits, const Tensor& probabilities,
                                const Tensor& experts, const Tensor& weights) {
  launch([&] {
    gpu::router_forward(r, element(logits), at(logits), as<float>(probabilities), as<std::int32_t>(experts),
                        as<float>(weights), raw());
  });
}

void GpuBackend::router_backward(const kernels::Router& r, const Tensor& probabilities, const Tensor& experts,
                                 const Tensor& counts, const Tensor& dweights, const Tensor& dlogits) {
  launch([&] {
    gpu::router_backward(r, element(dlogits), as<float>(probabilities), as<std::int32_t>(experts),
                         as<std::int32_t>(counts), as<float>(dweights), 1, at(dlogits), raw());
  });
}

void GpuBackend::drop_choices(const kernels::Permute& p, const Tensor& experts, const Tensor& weights,
                              const Tensor& kept) {
  launch([&] { gpu::drop_choices(p, as<std::int32_t>(experts), as<float>(weights), as<std::int32_t>(kept), raw()); });
}

void GpuBackend::permute_plan(const kernels::Permute& p, const Tensor& experts, const Tensor& counts,
                              const Tensor& rows) {
  launch([&] {
    gpu::permute_plan(p, as<std::int32_t>(experts), as<std::int32_t>(counts), as<std::int32_t>(rows), raw());
  });
}

void GpuBackend::permute_forward(const kernels::Permute& p, const Tensor& rows, const Tensor& x, const Tensor& sorted) {
  launch([&] { gpu::permute_forward(p, element(x), as<std::int32_t>(rows), at(x), at(sorted), raw()); });
}

void GpuBackend::permute_backward(const kernels::Permute& p, const Tensor& rows, const Tensor& dsorted,
                                  const Tensor& dx) {
  launch([&] { gpu::permute_backward(p, element(dx), as<std::int32_t>(rows), at(dsorted), at(dx), raw()); });
}

void GpuBackend::unpermute_forward(const kernels::Permute& p, const Tensor& rows, const Tensor& weights,
                                   const Tensor& sorted, const Tensor& y) {
  launch([&] {
    gpu::unpermute_forward(p, element(y), as<std::int32_t>(rows), as<float>(weights), at(sorted), at(y), raw());
  });
}

void GpuBackend::unpermute_backward(const kernels::Permute& p, const Tensor& rows, const Tensor& weights,
                                    const Tensor& sorted, const Tensor& dy, const Tensor& dsorted,
                                    const Tensor& dweights) {
  launch([&] {
    gpu::unpermute_backward(p, element(dy), as<std::int32_t>(rows), as<float>(weights), at(sorted), at(dy), at(dsorted),
                            as<float>(dweights), raw());
  });
}

void GpuBackend::squared_norm(const Tensor& values, const Tensor& norm) {
  if (values.count == 0) return;
  launch([&] { gpu::squared_norm(values.count, as<float>(values), as<double>(norm), raw()); });
}

void GpuBackend::clip_factor(const Tensor& norm, double max_norm, const Tensor& factor) {
  launch([&] { gpu::clip_factor(as<double>(norm), max_norm, as<float>(factor), nullptr, raw()); });
}

void GpuBackend::scale_by(const Tensor& factor, const Tensor& values) {
  if (values.count == 0) return;
  launch([&] { gpu::scale_by(as<float>(factor), values.count, as<float>(values), raw()); });
}

void GpuBackend::adamw(const kernels::AdamW& a, const Tensor& gradient, const Tensor& master, const Tensor& m,
                       const Tensor& v, const Tensor& weight) {
  if (master.count == 0) return;
  const kernels::gpu::AdamWTensor one{as<float>(gradient), as<float>(master), at(m), at(v), at(weight), master.count};
  launch([&] { gpu::adamw(a, element(weight), element(m), {&one, 1}, nullptr, raw()); });
}

void GpuBackend::adamw8bit(const kernels::AdamW& a, const Tensor& gradient, const Tensor& master,
                           const NarrowMoments& m, const NarrowMoments& v, const Tensor& weight) {
  if (master.count == 0) return;
  const kernels::gpu::AdamW8bitTensor one{as<float>(gradient),
                                          as<float>(master),
                                          as<std::uint8_t>(m.codes),
                                          as<float>(m.scales),
                                          as<std::uint8_t>(v.codes),
                                          as<float>(v.scales),
                                          at(weight),
                                          master.count};
  launch([&] { gpu::adamw8bit(a, element(weight), {&one, 1}, nullptr, raw()); });
}

void GpuBackend::sgd(const kernels::Sgd& s, const Tensor& gradient, const Tensor& master, const Tensor& m,
                     const Tensor& weight) {
  if (master.count == 0) return;
  const kernels::gpu::SgdTensor one{as<float>(gradient), as<float>(master), at(m), at(weight), master.count};
  launch([&] { gpu::sgd(s, element(weight), element(m), {&one, 1}, nullptr, raw()); });
}

}  // namespace real
