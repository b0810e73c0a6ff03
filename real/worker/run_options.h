// real/worker/run_options.h -- the words behind `forerun-worker run`. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace worker {

struct RunOptions {
  std::string job;               // a path
  std::vector<std::string> set;  // PATH=VALUE
  int steps = 10, warmup = 3;
  std::string tokens;       // a file of ids; empty: made up
  std::string json, trace;  // files; empty: none; json "-": to stdout, and nothing else
};

/// Throws base::InputError.
RunOptions run_options(const std::vector<std::string>& words);

}  // namespace worker
