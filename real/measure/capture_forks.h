// real/measure/capture_forks.h -- which streams take part in the capture of a CUDA graph. A capture begins on one
// stream; another joins it by waiting for an event of it before anything is given to it (fork), and must be waited for
// before the capture ends (join). SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "core/plan/plan.h"

namespace real {

class CaptureForks {
 public:
  /// Where captures begin and end.
  static constexpr plan::Stream kOrigin = plan::Stream::compute;

  void begin() { forked_.clear(); }
  /// Whether the stream, which is given something now, has to be forked first.
  bool must_fork(plan::Stream stream) {
    if (stream == kOrigin) return false;
    for (const plan::Stream known : forked_) {
      if (known == stream) return false;
    }
    forked_.push_back(stream);
    return true;
  }
  const std::vector<plan::Stream>& to_join() const { return forked_; }

 private:
  std::vector<plan::Stream> forked_;
};

}  // namespace real
