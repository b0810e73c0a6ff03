// SPDX-License-Identifier: Apache-2.0
#include "tests/real/executor/fp8_model.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "tests/real/executor/rounding.h"
#include "tests/real/executor/tape.h"

namespace fp8_model {
namespace {

using tape::Tape;
using tape::Var;
using tape::Vars;

/// Which numbers of an operand [rows, columns] have one scale.
using Groups = std::function<std::size_t(std::size_t row, std::size_t column)>;

std::size_t all_one(std::size_t, std::size_t) { return 0; }

enum class Side { column, row, whole };

Side side_of(const std::string& name) {
  for (const char* row : {"attention output", "feed-forward down", "shared expert down"}) {
    if (name == row) return Side::row;
  }
  for (const char* whole : {"query down", "key and value down", "expert up ", "expert down "}) {
    if (name.starts_with(whole)) return Side::whole;
  }
  return Side::column;
}

class Transformer {
 public:
  Transformer(const spec::Model& m, const reference_model::Parameters& p, const Recipe& r, Step& out)
      : m_(m), recipe_(r), out_(out), tp_(static_cast<std::size_t>(r.tp)) {
    for (const auto& [key, values] : p) {
      for (const double value : values) leaves_[key].push_back(t_.leaf(value));
    }
  }

  /// Adds the loss of a sequence, over `tokens` tokens of all, and its gradients.
  void train(const std::vector<std::int32_t>& ids, double tokens) {
    length_ = ids.size() - 1;
    Vars x;
    for (std::size_t t = 0; t < length_; ++t) append(x, rows(leaves_.at({-1, "embedding.weight"}), ids[t], m_.hidden));
    for (int layer = 0; layer < m_.layers; ++layer) {
      layer_ = layer;
      const Vars h = norm("attention norm", x);
      x = add(x, linear("attention output", m_.mla ? attend_latent(h) : attend(linear("qkv", h))));
      x = add(x, feed_forward(norm("feed-forward norm", x)));
    }
    layer_ = -1;
    const Vars logits = linear("output head", norm("final norm", x));
    Vars losses;
    for (std::size_t t = 0; t < length_; ++t) losses.push_back(surprise(rows(logits, t, m_.vocab), ids[t + 1]));
    const Var loss = t_.times(t_.total(losses), 1 / tokens);
    t_.backward(loss);
    out_.loss += t_.value(loss);
    for (const auto& [key, vars] : leaves_) {
      Vector& gradient = out_.gradients[key];
      gradient.resize(vars.size());
      for (std::size_t i = 0; i < vars.size(); ++i) gradient[i] += t_.slope(vars[i]);
    }
  }

 private:
  static Vars rows(const Vars& x, std::size_t row, std::size_t width) {
    const auto first = x.begin() + static_cast<std::ptrdiff_t>(row * width);
    return {first, first + static_cast<std::ptrdiff_t>(width)};
  }
  static void append(Vars& to, const Vars& more) { to.insert(to.end(), more.begin(), more.end()); }
  Vars add(const Vars& a, const Vars& b) {
    Vars out;
    for (std::size_t i = 0; i < a.size(); ++i) out.push_back(t_.sum(a[i], b[i]));
    return out;
  }
  Var dot(const Var* a, const Var* b, std::size_t n) {
    Vars out;
    for (std::size_t i = 0; i < n; ++i) out.push_back(t_.product(a[i], b[i]));
    return t_.total(out);
  }

  Vars norm(const std::string& name, const Vars& x) {
    const Vars& w = leaves_.at({layer_, name + ".weight"});
    Vars out;
    for (std::size_t t = 0; t < length_; ++t) {
      const Vars row = rows(x, t, w.size());
      const double mean = 1.0 / static_cast<double>(w.size());
      const Var sum = dot(row.data(), row.data(), row.size());
      const double root = std::sqrt(t_.value(sum) * mean + 1e-5);
      const Var inverse = t_.made(1 / root, {{sum, -0.5 * mean / (root * root * root)}});
      for (std::size_t i = 0; i < row.size(); ++i) out.push_back(t_.product(t_.product(row[i], inverse), w[i]));
    }
    return out;
  }

  /// What the tensor is when its numbers have been to fp8 and back.
  Vector quantised(const std::string& operand, const Vector& x, std::size_t columns, const Format& format,
                   const Groups& group) {
    const auto name = [&](std::size_t i) {
      return std::to_string(layer_) + ' ' + operand + ' ' + std::to_string(group(i / columns, i % columns));
    };
    Magnitudes own;
    for (std::size_t i = 0; i < x.size(); ++i) own[name(i)] = std::max(own[name(i)], std::abs(x[i]));
    for (const auto& [key, largest] : own) out_.largest[key] = std::max(out_.largest[key], largest);
    Vector out;
    for (std::size_t i = 0; i < x.size(); ++i) {
      double largest = own.at(name(i));
      if (recipe_.before) largest = recipe_.before->contains(name(i)) ? recipe_.before->at(name(i)) : 0;
      const double scale = largest == 0 ? 1 : largest / format.largest;
      out.push_back(nearest(format, x[i] / scale) * scale);
    }
    return out;
  }
  Vector values(const Vars& vars) const {
    Vector out;
    for (const Var v : vars) out.push_back(t_.value(v));
    return out;
  }

  struct Operands {
    Vector summed_across, summed_down;  // for the matmuls that sum along a row and along a column
  };
  Operands operands(const std::string& name, const Vector& x, std::size_t columns, const Format& format,
                    const Groups& group) {
    if (recipe_.square > 0 && name.ends_with(" weight")) {
      const Vector both = in_squares(x, columns, recipe_.square);
      return {both, both};
    }
    if (recipe_.block > 0) {
      return {in_blocks(x, columns, true, recipe_.block), in_blocks(x, columns, false, recipe_.block)};
    }
    const Vector all = quantised(name, x, columns, format, group);
    return {all, all};
  }

  /// The tensor-parallel rank that has an output of a column-parallel layer: heads, or gate and up, are cut each.
  std::size_t rank_of_output(const std::string& name, std::size_t o, std::size_t out) const {
    if (name == "qkv") {
      const std::size_t q = static_cast<std::size_t>(m_.heads * m_.head_dim), kv = (out - q) / 2;
      return o < q ? o / (q / tp_) : (o - q) % kv / (kv / tp_);
    }
    const bool gated = name == "feed-forward up" || name == "shared expert up";
    if (gated) return o % (out / 2) / (out / 2 / tp_);
    return o / (out / tp_);
  }

  /// Each rank scales its part of a tensor; of what is gathered from all, the whole.
  struct Scaled {
    Groups input, weight, gradient;
  };
  Scaled scaled(const std::string& name, std::size_t tokens, std::size_t in, std::size_t out) const {
    if (tp_ == 1) return {all_one, all_one, all_one};
    switch (side_of(name)) {
      case Side::column:
        return {all_one, [=, this](std::size_t o, std::size_t) { return rank_of_output(name, o, out); },
                [=, this](std::size_t, std::size_t o) { return rank_of_output(name, o, out); }};
      case Side::row: {
        const Groups by_input = [=, this](std::size_t, std::size_t i) { return i / (in / tp_); };
        return {by_input, by_input, all_one};
      }
      case Side::whole: break;
    }
    if (name.starts_with("expert") || !recipe_.shards) return {all_one, all_one, all_one};
    const Groups by_token = [=, this](std::size_t t, std::size_t) { return t / (tokens / tp_); };
    return {by_token, all_one, by_token};
  }

  Vars linear(const std::string& name, const Vars& x) { return linear(name, name, x, length_, 0, 1); }
  /// Of the matrices of one of `experts`, which lie one behind the other; its operands in fp8 are known as `operands`.
  Vars linear(const std::string& name, const std::string& operands, const Vars& x, std::size_t tokens,
              std::size_t expert, std::size_t experts) {
    const auto own = [&](const char* what) {
      const Vars& all = leaves_.at({layer_, name + what});
      return rows(all, expert, all.size() / experts);
    };
    const Vars y = product(operands, x, own(".weight"), tokens);
    if (!leaves_.contains({layer_, name + " adapter B.weight"})) return y;
    return add(y, product("", product("", x, own(" adapter A.weight"), tokens), own(" adapter B.weight"), tokens));
  }

  /// y = x W^T for so many tokens; on the way back dx = dy W and dW = dy^T x, of what the operands are in fp8. Without
  /// a name: in 16 bits.
  Vars product(const std::string& name, const Vars& x, const Vars& w, std::size_t tokens) {
    const std::size_t in = x.size() / tokens, out = w.size() / in;
    const bool wide = layer_ < recipe_.first_wide || layer_ >= m_.layers - recipe_.last_wide || name.empty();
    const bool narrow = layer_ >= 0 && !wide;
    const Scaled by = scaled(name, tokens, in, out);
    const auto cast = [this](bool casts, const std::string& what, const Vector& v, std::size_t columns, const Format& f,
                             const Groups& group) {
      return casts ? operands(what, v, columns, f, group) : Operands{v, v};
    };
    const Operands a = cast(narrow, name + " input", values(x), in, kE4m3, by.input);
    const Operands b = cast(narrow, name + " weight", values(w), in, kE4m3, by.weight);
    Vars y;
    for (std::size_t t = 0; t < tokens; ++t) {
      for (std::size_t o = 0; o < out; ++o) {
        double sum = 0;
        for (std::size_t i = 0; i < in; ++i) sum += a.summed_across[t * in + i] * b.summed_across[o * in + i];
        y.push_back(t_.leaf(sum));
      }
    }
    t_.then([=, this, layer = layer_] {
      layer_ = layer;
      Vector slopes;
      for (const Var v : y) slopes.push_back(t_.slope(v));
      const Operands dy = cast(narrow, name + " gradient", slopes, out, kE5m2, by.gradient);
      for (std::size_t t = 0; t < tokens; ++t) {
        for (std::size_t o = 0; o < out; ++o) {
          for (std::size_t i = 0; i < in; ++i) {
            t_.slope(x[t * in + i]) += dy.summed_across[t * out + o] * b.summed_down[o * in + i];
            t_.slope(w[o * in + i]) += dy.summed_down[t * out + o] * a.summed_down[t * in + i];
          }
        }
      }
    });
    return y;
  }

  /// Pairs (i, i + d / 2) of a head turn by place 10000^(-2 i / d).
  Vars rotated(const Var* head, std::size_t place, std::size_t d) {
    const std::size_t half = d / 2;
    Vars out(2 * half);
    for (std::size_t i = 0; i < half; ++i) {
      const double angle = static_cast<double>(place) * std::pow(10000.0, -static_cast<double>(i) / half);
      const Var a = head[i], b = head[i + half];
      out[i] = t_.sum(t_.times(a, std::cos(angle)), t_.times(b, -std::sin(angle)));
      out[i + half] = t_.sum(t_.times(a, std::sin(angle)), t_.times(b, std::cos(angle)));
    }
    return out;
  }

  using Heads = std::vector<Vars>;  // of each token one behind the other
  Vars core(const Heads& q, const Heads& k, const Heads& v) {
    const std::size_t heads = q.size() / length_, kv = k.size() / length_, d = q[0].size();
    Vars out;
    for (std::size_t t = 0; t < length_; ++t) {
      for (std::size_t h = 0; h < heads; ++h) {
        const std::size_t group = h * kv / heads;
        Vars weights;
        for (std::size_t s = 0; s <= t; ++s) {
          const Var score = dot(q[t * heads + h].data(), k[s * kv + group].data(), d);
          weights.push_back(t_.exponential(t_.times(score, 1 / std::sqrt(static_cast<double>(d)))));
        }
        const Var total = t_.total(weights);
        for (std::size_t i = 0; i < v[0].size(); ++i) {
          Vars parts;
          for (std::size_t s = 0; s <= t; ++s) parts.push_back(t_.product(weights[s], v[s * kv + group][i]));
          out.push_back(t_.quotient(t_.total(parts), total));
        }
      }
    }
    return out;
  }

  Vars attend(const Vars& qkv) {
    const std::size_t d = m_.head_dim, heads = m_.heads, kv = m_.kv_heads, width = (heads + 2 * kv) * d;
    Heads q, k, v;
    for (std::size_t t = 0; t < length_; ++t) {
      const Var* const token = &qkv[t * width];
      for (std::size_t h = 0; h < heads; ++h) q.push_back(rotated(token + h * d, t, d));
      for (std::size_t h = heads; h < heads + kv; ++h) k.push_back(rotated(token + h * d, t, d));
      for (std::size_t h = heads + kv; h < heads + 2 * kv; ++h) v.push_back({token + h * d, token + (h + 1) * d});
    }
    return core(q, k, v);
  }

  /// q = Wuq norm(Wdq x), [k; v] = Wukv norm(Wdkv x); the keys' rotary part, one for all heads, is that of Wdkv x which
  /// is not normed.
  Vars attend_latent(const Vars& x) {
    const spec::Mla& mla = *m_.mla;
    const std::size_t heads = m_.heads, own = mla.nope_head_dim, rotary = mla.rope_head_dim, value = mla.value_head_dim;
    const std::size_t d = own + rotary, latent = mla.kv_lora_rank;
    const Vars queries =
        mla.q_lora_rank > 0 ? linear("query up", norm("query norm", linear("query down", x))) : linear("query", x);
    const Vars down = linear("key and value down", x);
    Vars narrow;
    for (std::size_t t = 0; t < length_; ++t) {
      append(narrow, {down.begin() + t * (latent + rotary), down.begin() + t * (latent + rotary) + latent});
    }
    const Vars kv = linear("key and value up", norm("key and value norm", narrow));
    Heads q, k, v;
    for (std::size_t t = 0; t < length_; ++t) {
      const Vars shared = rotated(&down[t * (latent + rotary) + latent], t, rotary);
      for (std::size_t h = 0; h < heads; ++h) {
        const Var *const of_q = &queries[(t * heads + h) * d], *const of_kv = &kv[(t * heads + h) * (own + value)];
        q.push_back({of_q, of_q + own});
        append(q.back(), rotated(of_q + own, t, rotary));
        k.push_back({of_kv, of_kv + own});
        append(k.back(), shared);
        v.push_back({of_kv + own, of_kv + own + value});
      }
    }
    return core(q, k, v);
  }

  Vars dense(const std::string& name, const Vars& x) {
    return linear(name + " down", gated(linear(name + " up", x), length_));
  }

  Vars feed_forward(const Vars& x) {
    if (!m_.moe || !m_.moe->in_layer(layer_)) return dense("feed-forward", x);
    const Vars routed = experts(x);
    return m_.moe->shared_ffn > 0 ? add(routed, dense("shared expert", x)) : routed;
  }

  /// Each token visits those experts whose scores are highest, weighted by the softmax over them. The router is wide.
  Vars experts(const Vars& x) {
    const std::size_t count = m_.moe->experts, hidden = m_.hidden;
    const Vars logits = product("", x, leaves_.at({layer_, "router.weight"}), length_);
    std::vector<Vars> scores(length_), sums(length_ * hidden);  // of the experts that a token visits
    std::vector<std::vector<std::size_t>> chosen(length_);
    for (std::size_t t = 0; t < length_; ++t) {
      std::vector<std::size_t> order(count);
      std::iota(order.begin(), order.end(), 0);
      std::ranges::sort(order, std::greater(), [&](std::size_t e) { return t_.value(logits[t * count + e]); });
      order.resize(m_.moe->top_k);
      chosen[t] = order;
      for (const std::size_t e : order) scores[t].push_back(t_.exponential(logits[t * count + e]));
    }
    for (std::size_t e = 0; e < count; ++e) {
      std::vector<std::size_t> visitors;
      Vars in;
      for (std::size_t t = 0; t < length_; ++t) {
        if (std::ranges::count(chosen[t], e) == 0) continue;
        visitors.push_back(t);
        append(in, rows(x, t, hidden));
      }
      if (visitors.empty()) continue;
      const auto of_expert = [&](const std::string& name, const Vars& rows_in) {
        return linear(name, name + ' ' + std::to_string(e), rows_in, visitors.size(), e, count);
      };
      const Vars y = of_expert("expert down", gated(of_expert("expert up", in), visitors.size()));
      for (std::size_t i = 0; i < visitors.size(); ++i) {
        const std::size_t t = visitors[i];
        const auto place = static_cast<std::size_t>(std::ranges::find(chosen[t], e) - chosen[t].begin());
        const Var weight = t_.quotient(scores[t][place], t_.total(scores[t]));
        for (std::size_t j = 0; j < hidden; ++j) sums[t * hidden + j].push_back(t_.product(weight, y[i * hidden + j]));
      }
    }
    Vars out;
    for (const Vars& sum : sums) out.push_back(t_.total(sum));
    return out;
  }

  Vars gated(const Vars& up, std::size_t tokens) {
    const std::size_t width = up.size() / tokens / 2;
    Vars out;
    for (std::size_t t = 0; t < tokens; ++t) {
      for (std::size_t i = 0; i < width; ++i) {
        const Var gate = up[t * 2 * width + i];
        const double sigmoid = 1 / (1 + std::exp(-t_.value(gate)));
        const Var silu = t_.made(t_.value(gate) * sigmoid, {{gate, sigmoid * (1 + t_.value(gate) * (1 - sigmoid))}});
        out.push_back(t_.product(silu, up[(t * 2 + 1) * width + i]));
      }
    }
    return out;
  }

  Var surprise(const Vars& logits, std::int32_t target) {
    Vars parts;
    for (const Var logit : logits) parts.push_back(t_.exponential(logit));
    const Var total = t_.total(parts);
    const Var logarithm = t_.made(std::log(t_.value(total)), {{total, 1 / t_.value(total)}});
    return t_.sum(logarithm, t_.times(logits[static_cast<std::size_t>(target)], -1));
  }

  const spec::Model& m_;
  const Recipe& recipe_;
  Step& out_;
  std::size_t tp_;
  Tape t_;
  std::map<std::pair<int, std::string>, Vars> leaves_;
  std::size_t length_ = 0;
  int layer_ = 0;
};

}  // namespace

Step step(const spec::Model& model, const reference_model::Parameters& parameters,
          const std::vector<std::vector<std::int32_t>>& sequences, const Recipe& recipe) {
  double tokens = 0;
  for (const auto& ids : sequences) tokens += static_cast<double>(ids.size() - 1);
  Step out;
  for (const auto& ids : sequences) Transformer(model, parameters, recipe, out).train(ids, tokens);
  return out;
}

}  // namespace fp8_model
