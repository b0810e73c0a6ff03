// real/cpu/memory.h -- the CPU backend's memory: numbers, or indices. Fresh numbers are not-a-number, so that what
// reads them before they are written spoils its result. A ledger counts it as a GPU would hold it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cassert>
#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "real/executor/tensor.h"
#include "real/memory/ledger.h"

namespace real::cpu {

/// Bytes that the ledger counts until they are given back.
class Taken {
 public:
  Taken(std::shared_ptr<Ledger> ledger, plan::Category category, std::int64_t bytes)
      : ledger_(std::move(ledger)), category_(category), bytes_(bytes) {
    ledger_->take(category_, bytes_);
  }
  Taken(const Taken&) = delete;
  Taken& operator=(const Taken&) = delete;
  ~Taken() { ledger_->give(category_, bytes_); }

 private:
  std::shared_ptr<Ledger> ledger_;  // tensors may outlive the backend
  plan::Category category_;
  std::int64_t bytes_;
};

struct Memory final : Storage {
  std::optional<Taken> taken;  // nothing: of the host
  std::vector<double> numbers;
  std::vector<std::int32_t> indices;
};

/// Elements of a tensor; empty where there is none.
inline std::span<double> numbers(const Tensor& t) {
  if (!t) return {};
  auto& all = static_cast<Memory&>(*t.storage).numbers;
  assert(t.offset + t.count <= static_cast<std::int64_t>(all.size()));
  return std::span<double>(all).subspan(t.offset, t.count);
}

/// The same of indices; memory that was handed out as numbers becomes indices when it is used as such.
inline std::span<std::int32_t> indices(const Tensor& t) {
  auto& memory = static_cast<Memory&>(*t.storage);
  if (memory.indices.empty()) memory.indices.resize(memory.numbers.size());
  return std::span<std::int32_t>(memory.indices).subspan(t.offset, t.count);
}

}  // namespace real::cpu
