// tests/real/executor/tape.h -- numbers that remember what they were made of, so that a model written from its formulas
// has a backward that no kernel computes. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cmath>
#include <cstddef>
#include <functional>
#include <initializer_list>
#include <utility>
#include <vector>

namespace tape {

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
  std::vector<double> values_, slopes_;
  std::vector<std::function<void()>> back_;
};

}  // namespace tape
