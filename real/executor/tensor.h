// real/executor/tensor.h -- a range of numbers in a backend's memory. What the memory is, only the backend knows.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cassert>
#include <cstdint>
#include <memory>

namespace real {

/// Memory that a backend handed out; it is given back with the last tensor that shows a part of it.
class Storage {
 public:
  virtual ~Storage() = default;
};

/// `count` elements of `storage` from `offset` on. Copies show the same elements.
struct Tensor {
  std::shared_ptr<Storage> storage = {};
  std::int64_t offset = 0, count = 0;

  explicit operator bool() const { return storage != nullptr; }
  Tensor part(std::int64_t from, std::int64_t length) const {
    assert(from >= 0 && length >= 0 && from + length <= count);
    return {storage, offset + from, length};
  }
};

}  // namespace real
