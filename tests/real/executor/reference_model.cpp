// SPDX-License-Identifier: Apache-2.0
#include "tests/real/executor/reference_model.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

#include "kernels/philox.h"
#include "real/executor/dropout.h"

namespace reference_model {
namespace {

using Vector = std::vector<double>;
using Site = real::DropoutSite;

struct Choice {
  std::size_t expert;
  double weight;
};
using Choices = std::vector<Choice>;

/// What dropout multiplies the numbers of one sequence with.
class Masks {
 public:
  Masks(const spec::Model& m, const Dropout& dropout, std::size_t sequence, std::size_t length)
      : m_(m), dropout_(dropout), sequence_(sequence), length_(length) {}

  void drop(int layer, Site site, std::size_t token, Vector& x) const {
    for (std::size_t i = 0; i < x.size(); ++i) x[i] *= factor(layer, site, place(token) * x.size() + i);
  }
  double of_probability(int layer, std::size_t head, std::size_t query, std::size_t key) const {
    const std::size_t row = ((sequence_ * m_.heads + head) * length_ + query);
    return factor(layer, Site::probabilities, row * length_ + key);
  }

 private:
  std::size_t place(std::size_t token) const { return sequence_ * length_ + token; }
  double factor(int layer, Site site, std::size_t place) const {
    const std::uint64_t stream = real::dropout_stream(dropout_.seed, layer, site);
    const double drawn = kernels::philox(stream, place / 4).word[place % 4] / std::pow(2.0, 32);  // from 0 to below 1
    return drawn < dropout_.probability ? 0 : 1 / (1 - dropout_.probability);
  }

  const spec::Model& m_;
  const Dropout dropout_;
  const std::size_t sequence_, length_;
};

class Transformer {
 public:
  Transformer(const spec::Model& m, const Parameters& p, const Masks& masks, const Capacity& capacity,
              const std::vector<std::size_t>& documents)
      : m_(m), p_(p), masks_(masks), capacity_(capacity), documents_(documents) {}

  /// Of the targets behind each token of a sequence.
  double loss(const std::vector<std::int32_t>& ids) const {
    const std::size_t length = ids.size() - 1 - m_.mtp;
    std::vector<Vector> x;
    for (std::size_t t = 0; t < length; ++t) x.push_back(embed(-1, ids[t], t));
    for (int layer = 0; layer < m_.layers; ++layer) block(layer, x);
    double sum = 0, ahead = 0;
    for (std::size_t t = 0; t < length; ++t) sum += surprise(norm(-1, "final norm", x[t]), ids[t + 1]);
    for (int module = 1; module <= m_.mtp; ++module) {
      const int layer = m_.layers + module - 1;
      for (std::size_t t = 0; t < length; ++t) x[t] = look_ahead(layer, x[t], embed(-1 - module, ids[t + module], t));
      block(layer, x);
      for (std::size_t t = 0; t < length; ++t) ahead += surprise(norm(layer, "final norm", x[t]), ids[t + 1 + module]);
    }
    return m_.mtp > 0 ? sum + kMultiTokenWeight / m_.mtp * ahead : sum;
  }

 private:
  void block(int layer, std::vector<Vector>& x) const {
    const std::vector<Vector> before = x;
    attend(layer, x);
    const std::vector<Choices> choices = choose(layer, x);
    for (std::size_t t = 0; t < x.size(); ++t) {
      const bool shared = m_.parallel_block && m_.norms_in_parallel == 1;
      const Vector& input = m_.parallel_block ? before[t] : x[t];
      const char* own_norm = shared ? "attention norm" : "feed-forward norm";
      join(layer, Site::feed_forward_output, feed_forward(layer, norm(layer, own_norm, input), choices[t]), t, x[t]);
    }
  }

  /// What a module's block begins with: the hidden state, and the embedding of a token further on.
  Vector look_ahead(int layer, const Vector& hidden, const Vector& embedding) const {
    Vector pair = norm(layer, "multi-token hidden norm", hidden);
    const Vector next = norm(layer, "multi-token embedding norm", embedding);
    pair.insert(pair.end(), next.begin(), next.end());
    return linear(layer, "multi-token projection", pair);
  }

  /// The layer of the model whose kind a layer is of.
  int kind(int layer) const { return std::min(layer, m_.layers - 1); }

  const Vector* find(int layer, const std::string& name) const {
    const auto found = p_.find({layer, name});
    return found == p_.end() ? nullptr : &found->second;
  }
  static void add(const Vector& a, Vector& to) {
    for (std::size_t i = 0; i < to.size(); ++i) to[i] += a[i];
  }
  /// To the stream; masks of a parallel block are of both branches' sum, so of each.
  void join(int layer, Site site, Vector branch, std::size_t token, Vector& to) const {
    masks_.drop(layer, m_.parallel_block ? Site::feed_forward_output : site, token, branch);
    add(branch, to);
  }
  static double dot(const double* a, const double* b, std::size_t n) { return std::inner_product(a, a + n, b, 0.0); }

  /// W x + b + B A x, of the matrices of one of `experts`, which lie one behind the other.
  Vector linear(int layer, const std::string& name, const Vector& x, std::size_t expert = 0,
                std::size_t experts = 1) const {
    const Vector* b = find(layer, name + ".bias");
    Vector y = product(*find(layer, name + ".weight"), x, expert, experts);
    for (std::size_t i = 0; b && i < y.size(); ++i) y[i] += (*b)[expert * y.size() + i];
    std::size_t first = 0;
    for (const std::string& module : adapted_modules(layer, name)) {
      const Vector &up = *find(layer, module + " adapter B.weight"), &down = *find(layer, module + " adapter A.weight");
      for (double v : product(up, product(down, x, expert, experts), expert, experts)) y[first++] += v;
    }
    return y;
  }
  /// Which have an adapter each and make the layer's output one behind the other.
  std::vector<std::string> adapted_modules(int layer, const std::string& name) const {
    const auto adapted = [&](const char* module) { return find(layer, std::string(module) + " adapter B.weight"); };
    if (name == "qkv" && adapted("queries")) return {"queries", "keys", "values"};
    if (name == "feed-forward up" && adapted("feed-forward gate")) return {"feed-forward gate", name};
    return adapted(name.c_str()) ? std::vector<std::string>{name} : std::vector<std::string>{};
  }
  static Vector product(const Vector& all, const Vector& x, std::size_t expert, std::size_t experts) {
    Vector y(all.size() / experts / x.size());
    for (std::size_t i = 0; i < y.size(); ++i) y[i] = dot(&all[(expert * y.size() + i) * x.size()], x.data(), x.size());
    return y;
  }

  /// Dropout's masks are those of `end`.
  Vector embed(int end, std::int32_t id, std::size_t place) const {
    const auto row = [&](const Vector& table, std::size_t i) {
      return Vector(table.begin() + i * m_.hidden, table.begin() + (i + 1) * m_.hidden);
    };
    Vector x = row(*find(-1, "embedding.weight"), id);
    if (const Vector* positions = find(-1, "position embedding.weight")) {
      add(row(*positions, place - documents_[place]), x);
      masks_.drop(end, Site::embedding, place, x);
    }
    return x;
  }

  Vector norm(int layer, const std::string& name, const Vector& x) const {
    const bool layernorm = m_.norm == spec::Norm::layernorm;
    const double n = static_cast<double>(x.size());
    const double mean = layernorm ? std::accumulate(x.begin(), x.end(), 0.0) / n : 0;
    double variance = 0;
    for (double v : x) variance += (v - mean) * (v - mean) / n;
    const Vector &w = *find(layer, name + ".weight"), *b = find(layer, name + ".bias");
    Vector y(x.size());
    for (std::size_t i = 0; i < x.size(); ++i) {
      y[i] = (x[i] - mean) / std::sqrt(variance + 1e-5) * w[i] + (b ? (*b)[i] : 0);
    }
    return y;
  }

  /// Pairs (i, i + d / 2) of a head turn by place 10000^(-2 i / d).
  void rotate(double* head, std::size_t place, std::size_t dim) const {
    const std::size_t half = dim / 2;
    for (std::size_t i = 0; i < half; ++i) {
      const double angle = static_cast<double>(place) * std::pow(10000.0, -static_cast<double>(i) / half);
      const double a = head[i], b = head[i + half];
      head[i] = a * std::cos(angle) - b * std::sin(angle);
      head[i + half] = a * std::sin(angle) + b * std::cos(angle);
    }
  }

  void norm_head(int layer, const std::string& name, double* head) const {
    const Vector y = norm(layer, name, Vector(head, head + m_.head_dim));
    std::copy(y.begin(), y.end(), head);
  }

  /// Slopes of n heads as ALiBi's code has them: of other numbers than powers of two, from those on either side.
  static Vector slopes(std::size_t n) {
    std::size_t power = 1;
    while (2 * power <= n) power *= 2;
    Vector out;
    for (std::size_t i = 1; i <= power; ++i) out.push_back(std::pow(std::pow(2.0, -8.0 / power), i));
    if (power == n) return out;
    const Vector finer = slopes(2 * power);
    for (std::size_t i = 0; out.size() < n; i += 2) out.push_back(finer[i]);
    return out;
  }
  /// Of a key's score, `behind` places in front of the query.
  double bias(std::size_t head, std::size_t behind) const {
    return m_.position == spec::Position::alibi ? -slopes(m_.heads)[head] * static_cast<double>(behind) : 0;
  }

  double sink(int layer, std::size_t head) const {
    const Vector* sinks = find(layer, "attention sinks");
    return sinks ? std::exp((*sinks)[head]) : 0;
  }

  /// Latent attention: q = Wuq norm(Wdq x), [k; v] = Wukv norm(Wdkv x); the keys' rotary part, one for all heads, is
  /// that of Wdkv x which is not normed.
  void attend_latent(int layer, std::vector<Vector>& x) const {
    const spec::Mla& mla = *m_.mla;
    const std::size_t heads = m_.heads, own = mla.nope_head_dim, rotary = mla.rope_head_dim, value = mla.value_head_dim;
    const std::size_t d = own + rotary;
    std::vector<Vector> q, kv, shared;
    for (std::size_t t = 0; t < x.size(); ++t) {
      const Vector in = norm(layer, "attention norm", x[t]);
      q.push_back(mla.q_lora_rank > 0
                      ? linear(layer, "query up", norm(layer, "query norm", linear(layer, "query down", in)))
                      : linear(layer, "query", in));
      Vector narrow = linear(layer, "key and value down", in);
      shared.push_back(Vector(narrow.begin() + mla.kv_lora_rank, narrow.end()));
      narrow.resize(mla.kv_lora_rank);
      kv.push_back(linear(layer, "key and value up", norm(layer, "key and value norm", narrow)));
      if (m_.position != spec::Position::rope) continue;
      rotate(shared[t].data(), t - documents_[t], rotary);
      for (std::size_t h = 0; h < heads; ++h) rotate(&q[t][h * d + own], t - documents_[t], rotary);
    }
    for (std::size_t t = 0; t < x.size(); ++t) {
      Vector out(heads * value, 0.0);
      for (std::size_t h = 0; h < heads; ++h) {
        Vector weight;
        const std::size_t first = documents_[t];
        for (std::size_t s = first; s <= t; ++s) {
          const double score =
              dot(&q[t][h * d], &kv[s][h * (own + value)], own) + dot(&q[t][h * d + own], shared[s].data(), rotary);
          weight.push_back(std::exp(score / std::sqrt(static_cast<double>(d)) + bias(h, t - s)));
        }
        const double total = std::accumulate(weight.begin(), weight.end(), sink(layer, h));
        for (std::size_t s = first; s <= t; ++s) {
          for (std::size_t i = 0; i < value; ++i) {
            const double share = masks_.of_probability(layer, h, t, s) * weight[s - first] / total;
            out[h * value + i] += share * kv[s][h * (own + value) + own + i];
          }
        }
      }
      join(layer, Site::attention_output, linear(layer, "attention output", out), t, x[t]);
    }
  }

  void attend(int layer, std::vector<Vector>& x) const {
    if (m_.mla) return attend_latent(layer, x);
    const std::size_t d = m_.head_dim, heads = m_.heads, kv_heads = m_.kv_heads;
    std::vector<Vector> qkv;
    for (std::size_t t = 0; t < x.size(); ++t) {
      qkv.push_back(linear(layer, "qkv", norm(layer, "attention norm", x[t])));
      for (std::size_t h = 0; m_.qk_norm && h < heads + kv_heads; ++h) {
        norm_head(layer, h < heads ? "query norm" : "key norm", &qkv[t][h * d]);
      }
      if (!m_.ropes_in(kind(layer))) continue;
      for (std::size_t h = 0; h < heads + kv_heads; ++h) rotate(&qkv[t][h * d], t - documents_[t], d);
    }
    const std::size_t seen = m_.window_of(kind(layer)) > 0 ? m_.window_of(kind(layer)) : x.size();
    const std::size_t chunk = m_.chunk_of(kind(layer)) > 0 ? m_.chunk_of(kind(layer)) : x.size();
    for (std::size_t t = 0; t < x.size(); ++t) {
      Vector out(heads * d, 0.0);
      for (std::size_t h = 0; h < heads; ++h) {
        const std::size_t key = (heads + h * kv_heads / heads) * d, value = key + kv_heads * d;
        const std::size_t first = std::max({t + 1 > seen ? t + 1 - seen : 0, t / chunk * chunk, documents_[t]});
        Vector weight;
        for (std::size_t s = first; s <= t; ++s) {
          const double score = dot(&qkv[t][h * d], &qkv[s][key], d) / std::sqrt(static_cast<double>(d));
          weight.push_back(std::exp(score + bias(h, t - s)));
        }
        const double total = std::accumulate(weight.begin(), weight.end(), sink(layer, h));
        for (std::size_t s = first; s <= t; ++s) {
          const double share = masks_.of_probability(layer, h, t, s) * weight[s - first] / total;
          for (std::size_t i = 0; i < d; ++i) out[h * d + i] += share * qkv[s][value + i];
        }
      }
      join(layer, Site::attention_output, linear(layer, "attention output", out), t, x[t]);
    }
  }

  double activated(double x) const {
    switch (m_.activation) {
      case spec::Activation::relu: return std::max(x, 0.0);
      case spec::Activation::squared_relu: return std::max(x, 0.0) * x;
      case spec::Activation::swiglu: return x / (1 + std::exp(-x));
      case spec::Activation::clamped_swiglu: return std::min(x, 7.0) / (1 + std::exp(-1.702 * std::min(x, 7.0)));
      case spec::Activation::gelu:
      case spec::Activation::geglu: break;
    }
    return 0.5 * x * (1 + std::tanh(std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x)));
  }

  Vector activated(const Vector& up) const {
    Vector y(m_.gated_mlp ? up.size() / 2 : up.size());
    const bool clamped = m_.activation == spec::Activation::clamped_swiglu;
    const auto factor = [&](double x) { return clamped ? std::clamp(x, -7.0, 7.0) + 1 : x; };
    for (std::size_t i = 0; i < y.size(); ++i) y[i] = activated(up[i]) * (m_.gated_mlp ? factor(up[y.size() + i]) : 1);
    return y;
  }

  Vector dense(int layer, const std::string& name, const Vector& x) const {
    return linear(layer, name + " down", activated(linear(layer, name + " up", x)));
  }

  bool has_experts(int layer) const { return m_.moe && m_.moe->in_layer(kind(layer)); }

  /// Of a token: its experts with their weights, the largest first.
  Choices choose(const Vector& logits) const {
    Choices all;
    for (std::size_t e = 0; e < logits.size(); ++e) all.push_back({e, std::exp(logits[e])});
    std::sort(all.begin(), all.end(), [](auto a, auto b) { return a.weight > b.weight; });
    all.resize(m_.moe->top_k);
    double total = 0;
    for (const Choice& c : all) total += c.weight;
    for (Choice& c : all) c.weight /= total;
    return all;
  }

  /// Of every token, of the stream in front of the feed-forward; models with experts have no parallel blocks.
  std::vector<Choices> choose(int layer, const std::vector<Vector>& x) const {
    std::vector<Choices> out(x.size());
    if (!has_experts(layer)) return out;
    for (std::size_t t = 0; t < x.size(); ++t) {
      out[t] = choose(linear(layer, "router", norm(layer, "feed-forward norm", x[t])));
    }
    if (capacity_.factor == 0) return out;
    for (std::size_t first = 0; first < x.size(); first += capacity_.shard) {
      for (std::size_t e = 0; e < static_cast<std::size_t>(m_.moe->experts); ++e) drop(e, first, out);
    }
    return out;
  }

  void drop(std::size_t expert, std::size_t first, std::vector<Choices>& choices) const {
    std::vector<Choice*> visits;
    for (std::size_t t = first; t < first + capacity_.shard; ++t) {
      for (Choice& c : choices[t]) {
        if (c.expert == expert) visits.push_back(&c);
      }
    }
    const double even = static_cast<double>(capacity_.shard) * m_.moe->top_k / m_.moe->experts;
    const auto taken = static_cast<std::size_t>(std::ceil(capacity_.factor * even));
    std::stable_sort(visits.begin(), visits.end(), [](auto a, auto b) { return a->weight > b->weight; });
    for (std::size_t i = taken; i < visits.size(); ++i) visits[i]->weight = 0;
  }

  Vector feed_forward(int layer, const Vector& x, const Choices& choices) const {
    if (!has_experts(layer)) return dense(layer, "feed-forward", x);
    Vector y(x.size(), 0.0);
    for (const Choice& choice : choices) {
      const std::size_t experts = m_.moe->experts;
      const Vector inner = activated(linear(layer, "expert up", x, choice.expert, experts));
      Vector out = linear(layer, "expert down", inner, choice.expert, experts);
      for (double& v : out) v *= choice.weight;
      add(out, y);
    }
    if (m_.moe->shared_ffn > 0) add(dense(layer, "shared expert", x), y);
    return y;
  }

  double surprise(const Vector& x, std::int32_t target) const {
    const Vector* own = find(-1, "output head.weight");
    const Vector logits = linear(-1, own ? "output head" : "embedding", x);
    double total = 0;
    for (double l : logits) total += std::exp(l);
    return std::log(total) - logits[target];
  }

  const spec::Model& m_;
  const Parameters& p_;
  const Masks& masks_;
  const Capacity capacity_;
  const std::vector<std::size_t>& documents_;
};

}  // namespace

double loss(const spec::Model& model, const Parameters& parameters,
            const std::vector<std::vector<std::int32_t>>& sequences, const Dropout& dropout, const Capacity& capacity,
            const Documents& documents) {
  double sum = 0, tokens = 0;
  for (const auto& ids : sequences) {
    const std::size_t length = ids.size() - 1 - model.mtp, number = &ids - sequences.data();
    const std::vector<std::size_t> begins = documents.empty() ? std::vector<std::size_t>(length) : documents[number];
    sum += Transformer(model, parameters, Masks(model, dropout, number, length), capacity, begins).loss(ids);
    tokens += static_cast<double>(length);
  }
  return sum / tokens;
}

}  // namespace reference_model
