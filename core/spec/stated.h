// core/spec/stated.h -- the parts of a Job that resolve() fills in, as the user left them: a changed job is resolved
// from them anew, for what was filled in hangs on what is changed. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/spec/framework.h"
#include "core/spec/strategy.h"
#include "core/spec/training.h"

namespace spec {

struct Job;

struct Stated {
  Strategy strategy;
  Training training;
  Framework framework;
  std::int64_t vocab = 0;
  int nvlink_domain = 0;
  std::vector<std::string> assumptions;
};

Stated stated_parts(const Job&);
/// The job as if these parts had just been read and nothing had been filled in.
void restore(const Stated&, Job&);

/// How many ids its tokens may have: the vocabulary before resolve() padded it.
std::int64_t token_ids(const Job&);

/// The job before resolve(); what has been changed of it since in other parts, such as its hardware, stays changed.
/// REQUIRES: resolved.
Job unresolved(const Job&);

}  // namespace spec
