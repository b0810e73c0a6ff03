// real/gpu/index_cache.h -- indices that are the same in every microbatch (the places of tokens) are sent to the GPU
// once. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <span>
#include <vector>

#include "core/plan/plan.h"
#include "real/executor/tensor.h"

namespace real {

/// What was sent in one stream is behind nothing in another, until the host has waited for all.
class IndexCache {
 public:
  /// Nothing: not sent yet, or not for this stream.
  Tensor find(std::span<const std::int32_t> values, plan::Stream stream) {
    const auto found = sent_.find({values.begin(), values.end()});
    if (found == sent_.end() || !(found->second.settled || found->second.stream == stream)) return {};
    found->second.asked_again = true;
    return found->second.tensor;
  }
  void add(std::span<const std::int32_t> values, plan::Stream stream, const Tensor& tensor) {
    sent_.try_emplace({values.begin(), values.end()}, Entry{tensor, stream});
  }
  /// The host has waited for all: what nobody asked for a second time goes, the rest is anyone's.
  void settle() {
    std::erase_if(sent_, [](const auto& one) { return !one.second.asked_again; });
    for (auto& [values, entry] : sent_) {
      entry.settled = true;
      entry.asked_again = false;  // by the next settling, or it goes, too
    }
  }
  void clear() { sent_.clear(); }

 private:
  struct Entry {
    Tensor tensor;
    plan::Stream stream;
    bool settled = false, asked_again = false;
  };
  std::map<std::vector<std::int32_t>, Entry> sent_;
};

}  // namespace real
