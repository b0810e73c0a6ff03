// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <deque>
#include <utility>

#include "core/plan/schedule/schedule.h"

namespace plan {
namespace {

/// The order of one stage, told in directions: `near` enters the pipeline at this stage's end of it, `far` at the
/// other.
class DualPipe {
 public:
  explicit DualPipe(const Pipeline& p) : half_(p.stages / 2), each_(p.microbatches / 2) {
    const bool upper = p.stage >= half_;
    from_end_ = upper ? p.stages - 1 - p.stage : p.stage;
    near_ = upper ? 1 : 0;
    far_ = 1 - near_;
    stages_ = p.stages;
  }

  std::vector<Slot> run() {
    const int to_middle = half_ - 1 - from_end_;  // stages between this one and the middle
    for (int i = 0; i < 2 * to_middle; ++i) forward(near_);
    for (int i = 0; i <= from_end_; ++i) {
      forward(near_);
      forward(far_);
    }
    for (int i = 0; i < to_middle; ++i) {  // weight gradients stand in until the next microbatch comes
      input_gradient(far_);
      weight_gradient();
      forward(far_);
    }
    for (int i = 0; i < each_ - stages_ + from_end_ + 1; ++i) {
      if (i == 0 && to_middle == 0) {  // the middle waits for the other direction's end if it does both at once
        forward(near_);
        backward(far_);
      } else {
        overlapped(near_);
      }
      overlapped(far_);
    }
    for (int i = 0; i < to_middle; ++i) {
      backward(far_);
      overlapped(far_);
    }
    drain();
    for (int i = 0; i < to_middle; ++i) {
      weight_gradient();
      input_gradient(near_);
    }
    while (!owed_.empty()) weight_gradient();
    return std::move(out_);
  }

 private:
  /// The last backwards of both directions; from their middle on the weight gradients are put off.
  void drain() {
    const int rounds = from_end_ + 1;
    for (int at = 0; at < 2 * rounds; ++at) {
      const int direction = at % 2 == 0 ? far_ : near_;
      if (at >= rounds) {
        input_gradient(direction);
      } else {
        backward(direction);
      }
    }
  }
  void forward(int chunk) { out_.push_back({Pass::forward, forwarded_[chunk]++, chunk}); }
  void backward(int chunk) { out_.push_back({Pass::backward, returned_[chunk]++, chunk}); }
  void input_gradient(int chunk) {
    owed_.emplace_back(returned_[chunk], chunk);
    out_.push_back({Pass::input_gradient, returned_[chunk]++, chunk});
  }
  void weight_gradient() {
    out_.push_back({Pass::weight_gradient, owed_.front().first, owed_.front().second});
    owed_.pop_front();
  }
  /// Forward of `chunk` beside the backward of the other one.
  void overlapped(int chunk) {
    const int forth = forwarded_[chunk]++, back = returned_[1 - chunk]++;
    out_.push_back({Pass::overlapped, forth, chunk, back, 1 - chunk});
  }

  int half_, each_, stages_ = 0, from_end_ = 0, near_ = 0, far_ = 1;
  int forwarded_[2] = {0, 0}, returned_[2] = {0, 0};
  std::deque<std::pair<int, int>> owed_;  // weight gradients: microbatch and chunk
  std::vector<Slot> out_;
};

}  // namespace

std::vector<Slot> dualpipe(const Pipeline& p) { return DualPipe(p).run(); }

}  // namespace plan
