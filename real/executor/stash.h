// real/executor/stash.h -- a pipeline without a flush: which microbatches are between their forward and their backward,
// and the weights that their forwards read, which their backwards read again. Narayanan et al., SOSP'19 (PipeDream),
// section 3.3. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <deque>

#include "real/executor/parameters.h"

namespace real {

/// A version of the weights is what they are after so many updates. Microbatches are counted over all steps; they go
/// forward in their order, and backward in the same.
class Stash {
 public:
  /// The microbatch that goes forward or backward next, and the one whose input comes next from the stage before: a
  /// forward receives what the next one reads.
  std::int32_t next_forward() const { return backwards_ + static_cast<std::int32_t>(read_.size()); }
  std::int32_t next_backward() const { return backwards_; }
  std::int32_t next_received() const { return received_; }

  void received() { ++received_; }
  void forwarded() { read_.push_back(version_); }
  /// Throws std::logic_error where none is under way.
  void went_backward(ParameterTable&);
  /// In front of an update: what microbatches under way have read is kept, and weights are fresh memory, to be written
  /// as a whole. `fresh(weight)` allocates that.
  template <class Fresh>
  void update(ParameterTable& parameters, Fresh fresh) {
    const bool needed = !read_.empty() && read_.back() == version_;
    for (Parameter& p : parameters.all()) {
      if (p.frozen || !needed) continue;
      p.stashed[version_] = p.weight;
      fresh(p.weight);
    }
    ++version_;
  }

  /// The weights with which the next microbatch that goes backward went forward.
  Value& of_backward(Parameter&) const;

 private:
  std::int64_t version_ = 0;
  std::deque<std::int64_t> read_;  // versions, by the microbatches under way
  std::int32_t received_ = 0, backwards_ = 0;
};

}  // namespace real
