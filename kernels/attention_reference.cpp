// kernels/attention_reference.cpp -- see attention.h.
// SPDX-License-Identifier: Apache-2.0
#include "kernels/attention.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace kernels::reference {
namespace {

constexpr double kNothing = -std::numeric_limits<double>::infinity();

double dot(const double* a, const double* b, std::int64_t count) {
  double sum = 0;
  for (std::int64_t i = 0; i < count; ++i) sum += a[i] * b[i];
  return sum;
}

void add(double factor, const double* x, double* y, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) y[i] += factor * x[i];
}

/// One query of one head: where its rows begin.
struct Query {
  std::int64_t batch, head, index;

  std::int64_t row(const Attention& a) const { return (batch * a.queries + index) * a.heads + head; }
  std::int64_t statistic(const Attention& a) const { return (batch * a.heads + head) * a.queries + index; }
  std::int64_t key_row(const Attention& a, std::int64_t key) const {
    return (batch * a.keys + key) * a.kv_heads + head / (a.heads / a.kv_heads);
  }
};

/// What dropout multiplies the probabilities of a query with.
class Drop {
 public:
  Drop(const Attention& a, const Query& query)
      : dropout_(a.dropout),
        threshold_(dropout_threshold(a.dropout.probability)),
        first_(a.place_of(query.batch, query.head, query.index)) {}
  double operator()(std::int64_t key) const {
    if (threshold_ == 0) return 1;
    return dropout_keeps(dropout_, threshold_, first_ + key) ? 1 / (1 - dropout_.probability) : 0;
  }

 private:
  const Dropout& dropout_;
  std::uint32_t threshold_;
  std::uint64_t first_;
};

template <class Body>
void for_each_query(const Attention& a, Body body) {
  for (std::int64_t batch = 0; batch < a.batch; ++batch) {
    for (std::int64_t head = 0; head < a.heads; ++head) {
      for (std::int64_t index = 0; index < a.queries; ++index) body(Query{batch, head, index});
    }
  }
}

/// log(exp(a) + exp(b)), -infinity standing for none.
double log_add(double a, double b) {
  const double high = std::max(a, b);
  return high == kNothing ? kNothing : high + std::log(std::exp(a - high) + std::exp(b - high));
}

double score(const Attention& a, const Query& query, std::int64_t key, double product) {
  return a.scale * product + a.bias(query.head, query.index, key);
}

double share(double part, double whole) { return whole == kNothing ? 0 : std::exp(part - whole); }

}  // namespace

void attention_forward(const Attention& a, Input q, Input k, Input v, Output out, Output lse) {
  std::vector<double> scores(a.keys);
  for_each_query(a, [&](const Query& query) {
    double maximum = kNothing, total = 0;
    for (std::int64_t j = 0; j < a.keys; ++j) {
      const double* key = &k[query.key_row(a, j) * a.head_dim];
      const bool seen = a.sees(query.index, j);
      scores[j] = seen ? score(a, query, j, dot(&q[query.row(a) * a.head_dim], key, a.head_dim)) : kNothing;
      maximum = std::max(maximum, scores[j]);
    }
    for (double score : scores) total += share(score, maximum);
    const double sum = maximum == kNothing ? kNothing : maximum + std::log(total);
    lse[query.statistic(a)] = sum;
    double* row = &out[query.row(a) * a.value_dim];
    std::fill_n(row, a.value_dim, 0);
    const Drop drop(a, query);
    for (std::int64_t j = 0; j < a.keys; ++j) {
      add(drop(j) * share(scores[j], sum), &v[query.key_row(a, j) * a.value_dim], row, a.value_dim);
    }
  });
}

void attention_merge(const Attention& a, Input other_out, Input other_lse, Output out, Output lse) {
  for_each_query(a, [&](const Query& query) {
    double& mine = lse[query.statistic(a)];
    const double theirs = other_lse[query.statistic(a)], both = log_add(mine, theirs);
    const std::int64_t at = query.row(a) * a.value_dim;
    for (std::int64_t i = at; i < at + a.value_dim; ++i) {
      out[i] = share(mine, both) * out[i] + share(theirs, both) * other_out[i];
    }
    mine = both;
  });
}

void attention_backward(const Attention& a, Input q, Input k, Input v, Input out, Input lse, Input dout, Output dq,
                        Output dk, Output dv) {
  for (Output gradient : {dq, dk, dv}) std::fill(gradient.begin(), gradient.end(), 0);
  for_each_query(a, [&](const Query& query) {
    const double* my_q = &q[query.row(a) * a.head_dim];
    const double* my_dout = &dout[query.row(a) * a.value_dim];
    const double delta = dot(my_dout, &out[query.row(a) * a.value_dim], a.value_dim);
    const Drop drop(a, query);
    for (std::int64_t j = 0; j < a.keys; ++j) {
      if (!a.sees(query.index, j)) continue;
      const std::int64_t key = query.key_row(a, j);
      const double* my_k = &k[key * a.head_dim];
      const double p = share(score(a, query, j, dot(my_q, my_k, a.head_dim)), lse[query.statistic(a)]);
      const double ds = a.scale * p * (drop(j) * dot(my_dout, &v[key * a.value_dim], a.value_dim) - delta);
      add(drop(j) * p, my_dout, &dv[key * a.value_dim], a.value_dim);
      add(ds, my_q, &dk[key * a.head_dim], a.head_dim);
      add(ds, my_k, &dq[query.row(a) * a.head_dim], a.head_dim);
    }
  });
}

}  // namespace kernels::reference
