// real/executor/tensor.h -- a range of numbers in a backend's memory. What the memory is, only the backend knows.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cassert>
#include <cstdint>
#include <memory>

#include "core/plan/plan.h"

namespace real {

/// What numbers are for, from which a backend chooses their type.
enum class Meaning : std::uint8_t {
  activation,  // computed with in the job's precision: activations, weights, what collectives carry of them
  exact,       // kept or summed in fp32: master weights, moments, gradients, statistics of norms and of softmax
  sum,         // over all gradients, in fp64
  index,       // token ids, places, experts, counts
  code         // in fp8, behind a scale
};

/// The type of fresh memory, and what the ledger counts it as.
struct Purpose {
  Meaning meaning = Meaning::activation;
  plan::Category category = plan::Category::activations;
};
inline constexpr Purpose kActivation{};
inline constexpr Purpose kStatistic{Meaning::exact, plan::Category::activations};
inline constexpr Purpose kIndices{Meaning::index, plan::Category::activations};
inline constexpr Purpose kCodes{Meaning::code, plan::Category::activations};
inline constexpr Purpose kWeightCodes{Meaning::code, plan::Category::parameters};
inline constexpr Purpose kLogits{Meaning::activation, plan::Category::logits};
inline constexpr Purpose kWeight{Meaning::activation, plan::Category::parameters};
inline constexpr Purpose kGradient{Meaning::exact, plan::Category::gradients};
inline constexpr Purpose kState{Meaning::exact, plan::Category::optimizer};
inline constexpr Purpose kNarrowState{Meaning::activation, plan::Category::optimizer};  // moments in bf16
inline constexpr Purpose kStateCodes{Meaning::code, plan::Category::optimizer};
inline constexpr Purpose kSum{Meaning::sum, plan::Category::workspace};
inline constexpr Purpose kNumbers{Meaning::exact, plan::Category::workspace};
/// Of a collective, whose numbers take `element` bytes each by the Plan.
constexpr Purpose of_collective(std::int64_t element) {
  return {element == 4 ? Meaning::exact : Meaning::activation, plan::Category::communication};
}

/// Memory that a backend handed out; it is given back with the last tensor that shows a part of it.
class Storage {
 public:
  virtual ~Storage() = default;
};

/// `count` elements of `storage` from `offset` on. Copies show the same elements.
struct Tensor {
  std::shared_ptr<Storage> storage = {};
  std::int64_t offset = 0, count = 0;
  Meaning meaning = Meaning::activation;

  explicit operator bool() const { return storage != nullptr; }
  Tensor part(std::int64_t from, std::int64_t length) const {
    assert(from >= 0 && length >= 0 && from + length <= count);
    return {storage, offset + from, length, meaning};
  }
};

}  // namespace real
