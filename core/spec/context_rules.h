// core/spec/context_rules.h -- what context parallelism asks of sequence, heads and attention kernel.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "core/spec/job.h"

namespace spec {

/// Part of check(): empty at cp 1. REQUIRES: degrees and sequence of at least 1.
std::vector<base::Fault> context_faults(const Job&);

/// Heads on the context-parallel rank that has most of them under ulysses. K and V heads that are fewer than ranks are
/// copied where the ranks divide evenly among them. Otherwise (`divides` false) whole groups of a K and V head and its
/// queries are dealt out, and every rank waits for the one that has one group more: whether the others compute dummy
/// heads (UlyssesHeads::padded) or nothing (uneven) makes no difference to the step.
struct UlyssesShare {
  int queries = 0, keys = 0;
  bool divides = true;
};
/// REQUIRES: degrees of at least 1; tp divides the heads.
UlyssesShare ulysses_share(const Job&);

}  // namespace spec
