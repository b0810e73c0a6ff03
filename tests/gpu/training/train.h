// tests/gpu/training/train.h -- trains a job by real mode's GPU backend, a thread and a GPU for each rank.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "tests/real/executor/tiny.h"

namespace gpus {

struct Training {
  unsigned seed = 0;  // of the order of streams (gpus.h)
  int steps = 2;
  int runs_captured = 0;        // of graphs in which the last step is captured, behind its own
  bool keeps_gradients = true;  // of the first step
  std::function<void(int rank, int step)> before_step = [](int, int) {};
};

struct Trained {
  tiny::Run run;
  std::map<tiny::Key, std::vector<double>> masters;  // at the end, where they are on the device
  std::int64_t reserved = 0;                         // of the rank that took most
  std::int64_t activations_left = 0;                 // bytes behind the last step, likewise
  std::set<std::string>
      wrongly_told;  // operators of which a record would be missed, or would come unexpected, as far as known
  std::set<std::string> plain_attention, experts_one_by_one;
};

/// Throws base::DeviceError with what each rank that failed says, "rank 1: ...", a line each.
Trained train(const spec::Job& job, const Training&);

}  // namespace gpus
