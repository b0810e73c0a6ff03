// core/result/network_import.h -- the answer of `forerun import nccl-tests`: what was read and how well curves follow
// it. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace result {

struct ImportedCollective {
  std::string op;
  int rows = 0;
  std::int64_t from_bytes = 0, to_bytes = 0;
  int fewest_ranks = 0, most_ranks = 0;
  double residual = 0;          // root mean square of log(predicted / measured)
  double median_abs_error = 0;  // of the time
};

struct NetworkImport {
  std::string path;  // "links of dgx-h100", "fabric rail-400g between 4 x dgx-h100"
  std::string base;  // calibration that the fit began at, and whose curves stand in for what is not in the logs
  std::vector<ImportedCollective> fitted;
  std::vector<std::string> guessed;   // collectives without rows
  std::vector<std::string> warnings;  // rows and tests left out
};

}  // namespace result
