// sim/search/strategies.h -- every strategy of a space that is sound, as Jobs ready to be priced.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <vector>

#include "core/spec/search_space.h"

namespace sim {

/// Calls `each` with every choice of the keys that a layer depends on (usual_values.h), the others left at 0, in a
/// fixed order. Choices whose degrees do not divide the GPUs are not made.
void each_layer_choice(const spec::Job& base, const spec::SearchSpace&,
                       const std::function<void(const spec::SearchPoint&)>& each);

/// Makes Jobs of one base. No two threads at once.
class JobMaker {
 public:
  /// `base`: neither checked nor resolved.
  JobMaker(const spec::Job& base, const spec::SearchSpace&);

  /// Calls `each` with every sound strategy that has these layers, and its resolved job, which is good until the next.
  void each_with(const spec::SearchPoint& layers,
                 const std::function<void(const spec::SearchPoint&, const spec::Job&)>& each);
  /// REQUIRES: each_with() told this point.
  const spec::Job& job_of(const spec::SearchPoint&);
  /// Choices that spec::check() refused.
  std::int64_t refused() const { return refused_; }

 private:
  void choose(int depth, spec::SearchPoint&, const std::function<void(const spec::SearchPoint&, const spec::Job&)>&);
  void restore(const spec::SearchPoint&);

  const spec::Job& base_;
  const spec::SearchSpace& space_;
  std::vector<int> listed_;  // the layers of each stage that every strategy has
  spec::Job open_;           // with the keys chosen so far
  spec::Stated stated_;      // of the base
  spec::Job resolved_;
  std::int64_t refused_ = 0;
};

}  // namespace sim
