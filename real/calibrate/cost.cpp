// SPDX-License-Identifier: Apache-2.0
#include "real/calibrate/cost.h"

#include <algorithm>
#include <cmath>

#include "real/calibrate/bench.h"

namespace real {
namespace {

using base::Seconds;
using config::AttentionRow;
using config::MatmulRow;

constexpr base::FlopRate kPace = base::TFLOPps(400);
constexpr base::ByteRate kMemory = base::GBps(2000), kHost = base::GBps(25), kLink = base::GBps(100);
constexpr Seconds kLaunch = base::us(10);
constexpr Seconds kBetween = base::us(150);  // caches emptied, events read

base::Bytes bytes(double count) { return base::Bytes(count); }

struct Repetition {
  Seconds operator()(const MatmulRow& s) const {
    const double m = static_cast<double>(s.m), n = static_cast<double>(s.n), k = static_cast<double>(s.k);
    const double each = (m * k + k * n) * spec::bytes_of(s.dtype) + m * n * spec::bytes_of(s.out);
    const double experts = static_cast<double>(s.batch);
    return kLaunch + std::max(base::Flops(2 * m * n * k * experts) / kPace, bytes(each * experts) / kMemory);
  }
  Seconds operator()(const AttentionRow& s) const {
    const double scores = static_cast<double>(s.batch * s.heads) * std::pow(static_cast<double>(s.q_len), 2);
    const double pass = s.passes == AttentionRow::Passes::backward ? 2.5 : 1;
    return kLaunch + base::Flops(4 * scores * s.head_dim * (s.causal ? 0.5 : 1) * pass) / kPace;
  }
  Seconds operator()(const MemoryOperator& s) const {
    return kLaunch + bytes(static_cast<double>(bytes_of(s))) / kMemory;
  }
  Seconds operator()(const HostCopy& s) const { return kLaunch + bytes(static_cast<double>(s.bytes)) / kHost; }
  Seconds operator()(const Launch&) const { return base::ms(1); }
  Seconds operator()(const Beside&) const { return base::ms(8); }
  Seconds operator()(const Sustained& s) const { return base::s(s.seconds); }
  Seconds operator()(const CollectiveShape& s) const {
    return base::us(30) + bytes(2 * static_cast<double>(s.bytes)) / kLink;
  }
};

/// Before the first repetition.
Seconds setup(const Shape& shape) {
  if (std::holds_alternative<AttentionRow>(shape)) return base::ms(600);  // cuDNN compiles
  if (std::holds_alternative<Beside>(shape)) return base::ms(200);
  if (std::holds_alternative<CollectiveShape>(shape)) return base::ms(100);
  return base::ms(10);
}

/// The device rests after each repetition for as long as it took.
bool cools(const Shape& shape) {
  return std::holds_alternative<MatmulRow>(shape) || std::holds_alternative<AttentionRow>(shape) ||
         std::holds_alternative<MemoryOperator>(shape);
}

}  // namespace

Seconds repetition(const Shape& shape) { return std::visit(Repetition{}, shape); }

Seconds cost(const Shape& shape) {
  if (std::holds_alternative<Sustained>(shape)) return repetition(shape);
  const double pauses = cools(shape) ? 2 : 1;
  return setup(shape) + (repetition(shape) * pauses + kBetween) * (kSamples + 3);  // 3: to warm up
}

}  // namespace real
