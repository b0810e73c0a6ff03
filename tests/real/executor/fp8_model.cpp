// SPDX-License-Identifier: Apache-2.0
#include "tests/real/executor/fp8_model.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <initializer_list>

namespace fp8_model {
namespace {

using Vector = std::vector<double>;
using Var = std::size_t;
using Vars = std::vector<Var>;

/// Numbers with their derivatives: each knows what it was made of and by which slopes.
class Tape {
 public:
  Var leaf(double value) {
    values_.push_back(value);
    slopes_.push_back(0);
    return values_.size() - 1;
  }
  Var made(double value, std::initializer_list<std::pair<Var, double>> of) {
    const Var out = leaf(value);
    then([this, out, parts = std::vector(of)] {
      for (const auto& [part, slope] : parts) slopes_[part] += slopes_[out] * slope;
    });
    return out;
  }
  void then(std::function<void()> back) { back_.push_back(std::move(back)); }
  double value(Var v) const { return values_[v]; }
  double& slope(Var v) { return slopes_[v]; }

  Var sum(Var a, Var b) { return made(value(a) + value(b), {{a, 1}, {b, 1}}); }
  Var product(Var a, Var b) { return made(value(a) * value(b), {{a, value(b)}, {b, value(a)}}); }
  Var times(Var a, double by) { return made(value(a) * by, {{a, by}}); }
  Var exponential(Var a) { return made(std::exp(value(a)), {{a, std::exp(value(a))}}); }
  Var quotient(Var a, Var b) {
    return made(value(a) / value(b), {{a, 1 / value(b)}, {b, -value(a) / value(b) / value(b)}});
  }
  Var total(const Vars& of) {
    Var out = of.front();
    for (std::size_t i = 1; i < of.size(); ++i) out = sum(out, of[i]);
    return out;
  }
  void backward(Var from) {
    slopes_[from] = 1;
    for (auto step = back_.rbegin(); step != back_.rend(); ++step) (*step)();
  }

 private:
  Vector values_, slopes_;
  std::vector<std::function<void()>> back_;
};

struct Format {
  int mantissa, least_exponent;
  double largest;
};
constexpr Format kE4m3{3, -6, 448}, kE5m2{2, -14, 57344};

/// The nearest number of the format, to even where two are as near.
double nearest(const Format& f, double x) {
  if (std::abs(x) >= f.largest) return std::copysign(f.largest, x);
  if (x == 0) return 0;
  int exponent = 0;
  std::frexp(x, &exponent);  // x is between 2^(exponent - 1) and 2^exponent
  const double unit = std::exp2(std::max(exponent - 1, f.least_exponent) - f.mantissa);
  return std::nearbyint(x / unit) * unit;
}

/// All in e4m3 under the least power of two that keeps them within it.
void to_block(const std::vector<double*>& numbers) {
  double largest = 0, scale = 1;
  for (const double* v : numbers) largest = std::max(largest, std::abs(*v));
  while (largest / scale > kE4m3.largest) scale *= 2;
  while (largest > 0 && largest / (scale / 2) <= kE4m3.largest) scale /= 2;
  for (double* v : numbers) *v = nearest(kE4m3, *v / scale) * scale;
}

/// [rows, columns] in blocks of 32 along a row (`across`) or a column.
Vector in_blocks(Vector x, std::size_t columns, bool across) {
  const std::size_t rows = x.size() / columns, lines = across ? rows : columns, length = across ? columns : rows;
  for (std::size_t line = 0; line < lines; ++line) {
    for (std::size_t begin = 0; begin < length; begin += 32) {
      std::vector<double*> block;
      for (std::size_t i = begin; i < std::min(begin + 32, length); ++i) {
        block.push_back(across ? &x[line * columns + i] : &x[i * columns + line]);
      }
      to_block(block);
    }
  }
  return x;
}

class Llama {
 public:
  Llama(const spec::Model& m, const reference_model::Parameters& p, const Recipe& r, Step& out)
      : m_(m), recipe_(r), out_(out) {
    for (const auto& [key, values] : p) {
      for (const double value : values) leaves_[key].push_back(t_.leaf(value));
    }
  }

  /// Adds the loss of a sequence, over `tokens` tokens of all, and its gradients.
  void train(const std::vector<std::int32_t>& ids, double tokens) {
    length_ = ids.size() - 1;
    Vars x;
    for (std::size_t t = 0; t < length_; ++t) {
      const Vars row = rows(leaves_.at({-1, "embedding.weight"}), ids[t], m_.hidden);
      x.insert(x.end(), row.begin(), row.end());
    }
    for (int layer = 0; layer < m_.layers; ++layer) {
      layer_ = layer;
      x = add(x, linear("attention output", attend(linear("qkv", norm("attention norm", x)))));
      x = add(x, linear("feed-forward down", gated(linear("feed-forward up", norm("feed-forward norm", x)))));
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
      const Vars row = rows(x, t, m_.hidden);
      const double mean = 1.0 / m_.hidden, square = t_.value(t_.times(dot(row.data(), row.data(), row.size()), mean));
      const Var sum = dot(row.data(), row.data(), row.size());
      const double root = std::sqrt(square + 1e-5);
      const Var inverse = t_.made(1 / root, {{sum, -0.5 * mean / (root * root * root)}});
      for (std::size_t i = 0; i < row.size(); ++i) out.push_back(t_.product(t_.product(row[i], inverse), w[i]));
    }
    return out;
  }

  /// What the tensor is when its numbers have been to fp8 and back.
  Vector quantised(const std::string& operand, const Vector& x, const Format& format) {
    const std::string name = std::to_string(layer_) + ' ' + operand;
    double largest = 0;
    for (const double v : x) largest = std::max(largest, std::abs(v));
    out_.largest[name] = std::max(out_.largest[name], largest);
    if (recipe_.before) largest = recipe_.before->contains(name) ? recipe_.before->at(name) : 0;
    const double scale = largest == 0 ? 1 : largest / format.largest;
    Vector out;
    for (const double v : x) out.push_back(nearest(format, v / scale) * scale);
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
  Operands operands(const std::string& name, const Vector& x, std::size_t columns, const Format& format) {
    const bool wide = layer_ < recipe_.first_wide || layer_ >= m_.layers - recipe_.last_wide;
    if (layer_ < 0 || wide) return {x, x};
    if (recipe_.blocks) return {in_blocks(x, columns, true), in_blocks(x, columns, false)};
    const Vector all = quantised(name, x, format);
    return {all, all};
  }

  /// y = x W^T for all tokens; on the way back dx = dy W and dW = dy^T x, of what the operands are in fp8.
  Vars linear(const std::string& name, const Vars& x) {
    const Vars& w = leaves_.at({layer_, name + ".weight"});
    const std::size_t in = x.size() / length_, out = w.size() / in;
    const Operands a = operands(name + " input", values(x), in, kE4m3);
    const Operands b = operands(name + " weight", values(w), in, kE4m3);
    Vars y;
    for (std::size_t t = 0; t < length_; ++t) {
      for (std::size_t o = 0; o < out; ++o) {
        double sum = 0;
        for (std::size_t i = 0; i < in; ++i) sum += a.summed_across[t * in + i] * b.summed_across[o * in + i];
        y.push_back(t_.leaf(sum));
      }
    }
    t_.then([this, name, layer = layer_, x, y, &w, a, b, in, out] {
      layer_ = layer;
      Vector slopes;
      for (const Var v : y) slopes.push_back(t_.slope(v));
      const Operands dy = operands(name + " gradient", slopes, out, kE5m2);
      for (std::size_t t = 0; t < length_; ++t) {
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
  Vars rotated(const Var* head, std::size_t place) {
    const std::size_t half = m_.head_dim / 2;
    Vars out(2 * half);
    for (std::size_t i = 0; i < half; ++i) {
      const double angle = static_cast<double>(place) * std::pow(10000.0, -static_cast<double>(i) / half);
      const Var a = head[i], b = head[i + half];
      out[i] = t_.sum(t_.times(a, std::cos(angle)), t_.times(b, -std::sin(angle)));
      out[i + half] = t_.sum(t_.times(a, std::sin(angle)), t_.times(b, std::cos(angle)));
    }
    return out;
  }

  Vars attend(const Vars& qkv) {
    const std::size_t d = m_.head_dim, heads = m_.heads, kv = m_.kv_heads, width = (heads + 2 * kv) * d;
    std::vector<Vars> turned;  // queries, then keys, of each token
    for (std::size_t t = 0; t < length_; ++t) {
      for (std::size_t h = 0; h < heads + kv; ++h) turned.push_back(rotated(&qkv[t * width + h * d], t));
    }
    Vars out;
    for (std::size_t t = 0; t < length_; ++t) {
      for (std::size_t h = 0; h < heads; ++h) {
        const std::size_t group = h * kv / heads;
        Vars weights;
        for (std::size_t s = 0; s <= t; ++s) {
          const Vars &q = turned[t * (heads + kv) + h], &k = turned[s * (heads + kv) + heads + group];
          weights.push_back(
              t_.exponential(t_.times(dot(q.data(), k.data(), d), 1 / std::sqrt(static_cast<double>(d)))));
        }
        const Var total = t_.total(weights);
        for (std::size_t i = 0; i < d; ++i) {
          Vars parts;
          for (std::size_t s = 0; s <= t; ++s) {
            parts.push_back(t_.product(weights[s], qkv[s * width + (heads + kv + group) * d + i]));
          }
          out.push_back(t_.quotient(t_.total(parts), total));
        }
      }
    }
    return out;
  }

  Vars gated(const Vars& up) {
    const std::size_t width = up.size() / length_ / 2;
    Vars out;
    for (std::size_t t = 0; t < length_; ++t) {
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
  for (const auto& ids : sequences) Llama(model, parameters, recipe, out).train(ids, tokens);
  return out;
}

}  // namespace fp8_model
