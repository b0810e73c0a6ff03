// core/result/training_run.h -- the answer of `forerun measure JOB --backend cpu`: what training really did, step by
// step. No times: those of a CPU say nothing of a GPU. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace result {

struct TrainedStep {
  double loss = 0;                      // nats a token, mean over the step's tokens
  std::optional<double> gradient_norm;  // before it is clipped; nothing where the schedule lets no stage know it
};

struct TrainingRun {
  std::string model, backend, tokens;  // tokens: "synthetic", or the file
  int ranks = 1;
  long long parameters = 0;
  std::vector<TrainedStep> steps;
};

}  // namespace result
