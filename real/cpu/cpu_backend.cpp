// SPDX-License-Identifier: Apache-2.0
#include "real/cpu/cpu_backend.h"

#include <algorithm>

#include "kernels/convert.h"
#include "kernels/gradient_norm.h"
#include "kernels/rows.h"
#include "real/cpu/memory.h"
#include "real/measure/element.h"

namespace real {

using cpu::indices;
using cpu::Memory;
using cpu::numbers;
namespace reference = kernels::reference;

namespace {

std::shared_ptr<Memory> counted(const std::shared_ptr<Ledger>& ledger, std::int64_t count, Purpose purpose) {
  auto memory = std::make_shared<Memory>();
  memory->taken.emplace(ledger, purpose.category, count * bytes_of(purpose.meaning));
  return memory;
}

}  // namespace

Tensor CpuBackend::allocate(std::int64_t count, Purpose purpose) {
  auto memory = counted(ledger_, count, purpose);
  memory->numbers.assign(count, std::numeric_limits<double>::quiet_NaN());
  return {std::move(memory), 0, count, purpose.meaning};
}

Tensor CpuBackend::upload(std::span<const double> values) {
  auto memory = counted(ledger_, static_cast<std::int64_t>(values.size()), kNumbers);
  memory->numbers.assign(values.begin(), values.end());
  return {std::move(memory), 0, static_cast<std::int64_t>(values.size()), Meaning::exact};
}

Tensor CpuBackend::upload_indices(std::span<const std::int32_t> values) {
  auto memory = counted(ledger_, static_cast<std::int64_t>(values.size()), kIndices);
  memory->indices.assign(values.begin(), values.end());
  return {std::move(memory), 0, static_cast<std::int64_t>(values.size()), Meaning::index};
}

std::vector<double> CpuBackend::download(const Tensor& t) {
  const auto all = numbers(t);
  return {all.begin(), all.end()};
}

std::vector<std::int32_t> CpuBackend::download_indices(const Tensor& t) {
  const auto all = indices(t);
  return {all.begin(), all.end()};
}

void CpuBackend::fill(const Tensor& t, double value) { std::ranges::fill(numbers(t), value); }

void CpuBackend::normal(const kernels::Normal& n, const Tensor& y) { reference::normal(n, numbers(y)); }

void CpuBackend::scale_add(double alpha, const Tensor& x, double beta, const Tensor& y) {
  reference::scale_add(alpha, numbers(x), beta, numbers(y));
}

void CpuBackend::sum(const Tensor& x, const Tensor& y, const Tensor& to) {
  reference::sum(numbers(x), numbers(y), numbers(to));
}

void CpuBackend::strided_copy(const kernels::StridedCopy& copy, const Tensor& from, const Tensor& to) {
  reference::strided_copy(copy, numbers(from), numbers(to));
}

void CpuBackend::glu_forward(const kernels::Glu& g, const Tensor& gate_up, const Tensor& y) {
  reference::glu_forward(g, numbers(gate_up), numbers(y));
}

void CpuBackend::glu_backward(const kernels::Glu& g, const Tensor& gate_up, const Tensor& dy, const Tensor& dx) {
  reference::glu_backward(g, numbers(gate_up), numbers(dy), numbers(dx));
}

void CpuBackend::gelu_forward(kernels::Gelu kind, const Tensor& x, const Tensor& y) {
  reference::gelu_forward(kind, numbers(x), numbers(y));
}

void CpuBackend::gelu_backward(kernels::Gelu kind, const Tensor& x, const Tensor& dy, const Tensor& dx) {
  reference::gelu_backward(kind, numbers(x), numbers(dy), numbers(dx));
}

void CpuBackend::relu_forward(kernels::Relu kind, const Tensor& x, const Tensor& y) {
  reference::relu_forward(kind, numbers(x), numbers(y));
}

void CpuBackend::relu_backward(kernels::Relu kind, const Tensor& x, const Tensor& dy, const Tensor& dx) {
  reference::relu_backward(kind, numbers(x), numbers(dy), numbers(dx));
}

void CpuBackend::dropout(const kernels::Dropout& d, const Tensor& x, const Tensor& y) {
  reference::dropout(d, numbers(x), numbers(y));
}

void CpuBackend::matmul(const kernels::Matmul& m, const Tensor& a, const Tensor& b, const Tensor& c) {
  reference::matmul(m, numbers(a), numbers(b), numbers(c));
}

void CpuBackend::batched_matmul(const kernels::BatchedMatmul& m, const Tensor& a, const Tensor& b, const Tensor& c) {
  reference::batched_matmul(m, numbers(a), numbers(b), numbers(c));
}

void CpuBackend::attention_sinks_forward(const kernels::Attention& a, const Tensor& sinks, const Tensor& out,
                                         const Tensor& lse) {
  reference::attention_sinks_forward(a, numbers(sinks), numbers(out), numbers(lse));
}

void CpuBackend::attention_sinks_backward(const kernels::Attention& a, const Tensor& sinks, const Tensor& out,
                                          const Tensor& lse, const Tensor& dout, const Tensor& dsinks) {
  reference::attention_sinks_backward(a, numbers(sinks), numbers(out), numbers(lse), numbers(dout), numbers(dsinks));
}

void CpuBackend::softmax_forward(const kernels::Softmax& s, const Tensor& scores, const Tensor& sinks,
                                 const Tensor& begins, const Tensor& probabilities, const Tensor& lse) {
  reference::softmax_forward(s, numbers(scores), numbers(sinks), begins ? indices(begins) : kernels::Indices{},
                             numbers(probabilities), numbers(lse));
}

void CpuBackend::softmax_backward(const kernels::Softmax& s, const Tensor& probabilities, const Tensor& dprobabilities,
                                  const Tensor& dscores) {
  reference::softmax_backward(s, numbers(probabilities), numbers(dprobabilities), numbers(dscores));
}

void CpuBackend::add_rows(std::int64_t, const Tensor& bias, const Tensor& y) {
  reference::add_rows(numbers(bias), numbers(y));
}

void CpuBackend::sum_rows(std::int64_t, const Tensor& dy, const Tensor& dbias) {
  reference::sum_rows(numbers(dy), numbers(dbias));
}

void CpuBackend::norm_forward(const kernels::Norm& n, const Tensor& x, const Tensor& weight, const Tensor& bias,
                              const Tensor& y, const Tensor& mean, const Tensor& rstd) {
  reference::norm_forward(n, numbers(x), {}, numbers(weight), numbers(bias), {}, numbers(y), numbers(mean),
                          numbers(rstd));
}

void CpuBackend::norm_backward(const kernels::Norm& n, const Tensor& x, const Tensor& weight, const Tensor& mean,
                               const Tensor& rstd, const Tensor& dy, const Tensor& dx, const Tensor& dweight,
                               const Tensor& dbias) {
  reference::norm_backward(n, numbers(x), numbers(weight), numbers(mean), numbers(rstd), numbers(dy), {}, numbers(dx),
                           numbers(dweight), numbers(dbias));
}

void CpuBackend::rotary(const kernels::Rotary& r, kernels::Direction direction, const Tensor& positions,
                        const Tensor& from, const Tensor& to) {
  reference::rotary(r, direction, indices(positions), numbers(from), numbers(to));
}

void CpuBackend::attention_forward(const kernels::Attention& a, const Tensor& q, const Tensor& k, const Tensor& v,
                                   const Tensor& out, const Tensor& lse) {
  reference::attention_forward(a, numbers(q), numbers(k), numbers(v), numbers(out), numbers(lse));
}

void CpuBackend::attention_merge(const kernels::Attention& a, const Tensor& other_out, const Tensor& other_lse,
                                 const Tensor& out, const Tensor& lse) {
  reference::attention_merge(a, numbers(other_out), numbers(other_lse), numbers(out), numbers(lse));
}

void CpuBackend::attention_backward(const kernels::Attention& a, const Tensor& q, const Tensor& k, const Tensor& v,
                                    const Tensor& out, const Tensor& lse, const Tensor& dout, const Tensor& dq,
                                    const Tensor& dk, const Tensor& dv) {
  reference::attention_backward(a, numbers(q), numbers(k), numbers(v), numbers(out), numbers(lse), numbers(dout),
                                numbers(dq), numbers(dk), numbers(dv));
}

void CpuBackend::embedding_forward(const kernels::Embedding& e, const Tensor& ids, const Tensor& table,
                                   const Tensor& y) {
  reference::embedding_forward(e, indices(ids), numbers(table), numbers(y));
}

void CpuBackend::embedding_backward(const kernels::Embedding& e, const Tensor& ids, const Tensor& dy,
                                    const Tensor& dtable) {
  reference::embedding_backward(e, indices(ids), numbers(dy), numbers(dtable));
}

void CpuBackend::cross_entropy_maximum(const kernels::CrossEntropy& c, const Tensor& logits, const Tensor& maximum) {
  reference::cross_entropy_maximum(c, numbers(logits), numbers(maximum));
}

void CpuBackend::cross_entropy_sums(const kernels::CrossEntropy& c, const Tensor& targets, const Tensor& logits,
                                    const Tensor& maximum, const Tensor& total, const Tensor& target_logit) {
  reference::cross_entropy_sums(c, indices(targets), numbers(logits), numbers(maximum), numbers(total),
                                numbers(target_logit));
}

void CpuBackend::cross_entropy_loss(const Tensor& targets, const Tensor& maximum, const Tensor& total,
                                    const Tensor& target_logit, const Tensor& loss) {
  reference::cross_entropy_loss(indices(targets), numbers(maximum), numbers(total), numbers(target_logit),
                                numbers(loss));
}

void CpuBackend::cross_entropy_gradient(const kernels::CrossEntropy& c, const Tensor& targets, const Tensor& maximum,
                                        const Tensor& total, const Tensor& logits) {
  reference::cross_entropy_gradient(c, indices(targets), numbers(maximum), numbers(total), numbers(logits));
}

void CpuBackend::rescale_total(const Tensor& own, const Tensor& maximum, const Tensor& total) {
  reference::rescale_total(numbers(own), numbers(maximum), numbers(total));
}

void CpuBackend::join_states(const kernels::JoinedStates& s, const Tensor& targets, const Tensor& own_maximum,
                             const Tensor& own_total, const Tensor& maximum, const Tensor& total,
                             const Tensor& target_rows, const Tensor& states) {
  reference::join_states(s, indices(targets), numbers(own_maximum), numbers(own_total), numbers(maximum),
                         numbers(total), numbers(target_rows), numbers(states));
}

void CpuBackend::grouped_matmul(const kernels::GroupedMatmul& g, const Tensor& a, const Tensor& b, const Tensor& c) {
  reference::grouped_matmul(g, numbers(a), numbers(b), numbers(c));
}

void CpuBackend::router_forward(const kernels::Router& r, const Tensor& logits, const Tensor& probabilities,
                                const Tensor& experts, const Tensor& weights) {
  reference::router_forward(r, numbers(logits), numbers(probabilities), indices(experts), numbers(weights));
}

void CpuBackend::router_backward(const kernels::Router& r, const Tensor& probabilities, const Tensor& experts,
                                 const Tensor& counts, const Tensor& dweights, const Tensor& dlogits) {
  reference::router_backward(r, numbers(probabilities), indices(experts), indices(counts), numbers(dweights), 1,
                             numbers(dlogits));
}

void CpuBackend::drop_choices(const kernels::Permute& p, const Tensor& experts, const Tensor& weights,
                              const Tensor& kept) {
  reference::drop_choices(p, indices(experts), numbers(weights), indices(kept));
}

void CpuBackend::permute_plan(const kernels::Permute& p, const Tensor& experts, const Tensor& counts,
                              const Tensor& rows) {
  reference::permute_plan(p, indices(experts), indices(counts), indices(rows));
}

void CpuBackend::permute_forward(const kernels::Permute& p, const Tensor& rows, const Tensor& x, const Tensor& sorted) {
  reference::permute_forward(p, indices(rows), numbers(x), numbers(sorted));
}

void CpuBackend::permute_backward(const kernels::Permute& p, const Tensor& rows, const Tensor& dsorted,
                                  const Tensor& dx) {
  reference::permute_backward(p, indices(rows), numbers(dsorted), numbers(dx));
}

void CpuBackend::unpermute_forward(const kernels::Permute& p, const Tensor& rows, const Tensor& weights,
                                   const Tensor& sorted, const Tensor& y) {
  reference::unpermute_forward(p, indices(rows), numbers(weights), numbers(sorted), numbers(y));
}

void CpuBackend::unpermute_backward(const kernels::Permute& p, const Tensor& rows, const Tensor& weights,
                                    const Tensor& sorted, const Tensor& dy, const Tensor& dsorted,
                                    const Tensor& dweights) {
  reference::unpermute_backward(p, indices(rows), numbers(weights), numbers(sorted), numbers(dy), numbers(dsorted),
                                numbers(dweights));
}

void CpuBackend::squared_norm(const Tensor& values, const Tensor& norm) {
  numbers(norm)[0] += reference::squared_norm(numbers(values));
}

void CpuBackend::clip_factor(const Tensor& norm, double max_norm, const Tensor& factor) {
  numbers(factor)[0] = reference::clip_factor(numbers(norm)[0], max_norm);
}

void CpuBackend::scale_by(const Tensor& factor, const Tensor& values) {
  reference::scale_by(numbers(factor)[0], numbers(values));
}

void CpuBackend::adamw(const kernels::AdamW& a, const Tensor& gradient, const Tensor& master, const Tensor& m,
                       const Tensor& v, const Tensor& weight) {
  reference::adamw(a, 1, numbers(gradient), numbers(master), numbers(m), numbers(v));
  if (weight) copy(master, weight);
}

void CpuBackend::adamw8bit(const kernels::AdamW& a, const Tensor& gradient, const Tensor& master,
                           const NarrowMoments& m, const NarrowMoments& v, const Tensor& weight) {
  reference::adamw8bit(a, 1, numbers(gradient), numbers(master), numbers(m.codes), numbers(m.scales), numbers(v.codes),
                       numbers(v.scales));
  if (weight) copy(master, weight);
}

void CpuBackend::sgd(const kernels::Sgd& s, const Tensor& gradient, const Tensor& master, const Tensor& m,
                     const Tensor& weight) {
  reference::sgd(s, 1, numbers(gradient), numbers(master), numbers(m));
  if (weight) copy(master, weight);
}

// Device and host are one memory; a copy is made all the same, so that nobody reads what has left.

Tensor CpuBackend::to_host(const Tensor& t) {
  auto memory = std::make_shared<Memory>();
  const Memory& from = static_cast<const Memory&>(*t.storage);
  const auto part = [&](const auto& all, auto& to) {
    if (!all.empty()) to.assign(all.begin() + t.offset, all.begin() + t.offset + t.count);
  };
  part(from.numbers, memory->numbers);
  part(from.indices, memory->indices);
  return {std::move(memory), 0, t.count, t.meaning};
}

void CpuBackend::to_device(const Tensor& of_host, const Tensor& to) {
  if (!static_cast<const Memory&>(*of_host.storage).indices.empty()) {
    std::ranges::copy(indices(of_host), indices(to).begin());
  }
  if (!static_cast<const Memory&>(*of_host.storage).numbers.empty()) {
    std::ranges::copy(numbers(of_host), numbers(to).begin());
  }
}

void CpuBackend::host_add(const Tensor& x, const Tensor& y) { add(x, y); }
void CpuBackend::host_squared_norm(const Tensor& values, const Tensor& norm) { squared_norm(values, norm); }
void CpuBackend::host_scale(double factor, const Tensor& values) { reference::scale_by(factor, numbers(values)); }
void CpuBackend::host_adamw(const kernels::AdamW& a, const Tensor& gradient, const Tensor& master, const Tensor& m,
                            const Tensor& v) {
  adamw(a, gradient, master, m, v, {});
}
void CpuBackend::host_sgd(const kernels::Sgd& s, const Tensor& gradient, const Tensor& master, const Tensor& m) {
  sgd(s, gradient, master, m, {});
}

Tensor CpuBackend::host_copy(const Tensor& from, Meaning to) {
  Tensor out = to_host(from);
  out.meaning = to;  // of doubles
  return out;
}

Tensor CpuBackend::to_drive(const Tensor& of_host) {
  if (!drive_) drive_ = std::make_shared<DriveFile>();
  const auto bytes = std::as_bytes(numbers(of_host));
  auto piece = std::make_shared<DrivePiece>(drive_, static_cast<std::int64_t>(bytes.size()), true);
  piece->write(bytes);
  return {std::move(piece), 0, of_host.count, of_host.meaning};
}

Tensor CpuBackend::from_drive(const Tensor& of_drive) {
  auto memory = std::make_shared<Memory>();
  memory->numbers.resize(static_cast<std::size_t>(of_drive.count));
  static_cast<const DrivePiece&>(*of_drive.storage)
      .read(of_drive.offset * static_cast<std::int64_t>(sizeof(double)),
            std::as_writable_bytes(std::span(memory->numbers)));
  return {std::move(memory), 0, of_drive.count, of_drive.meaning};
}

}  // namespace real
