// SPDX-License-Identifier: Apache-2.0
#include "core/plan/ring_steps.h"

#include <algorithm>
#include <cmath>

namespace plan {
namespace {

/// Integral of min(max(x, 0), most) from 0 to n.
double ramp(double n, double most) {
  if (n <= 0) return 0;
  return n <= most ? n * n / 2 : n * most - most * most / 2;
}

/// Pairs whose key is no further along its stretch than the query along its own, plus `shift`.
double pairs_below(double queries, double keys, double shift) {
  return ramp(queries + shift, keys) - ramp(shift, keys);
}

}  // namespace

double attended_pairs(Stretch queries, Stretch keys, Mask mask) {
  const double q = static_cast<double>(queries.length), k = static_cast<double>(keys.length);
  const double shift = static_cast<double>(queries.begin - keys.begin);
  const double window = static_cast<double>(mask.window);
  if (mask.causal) {
    return pairs_below(q, k, shift) - (mask.window > 0 ? pairs_below(q, k, shift - window) : 0);
  }
  if (mask.window == 0) return q * k;
  return pairs_below(q, k, shift + window / 2) - pairs_below(q, k, shift - window / 2);
}

std::int64_t mean_keys(std::int64_t document, Mask mask) {
  const Stretch all{0, document};
  return static_cast<std::int64_t>(std::ceil(attended_pairs(all, all, mask) / static_cast<double>(document)));
}

std::vector<Stretch> stretches_of(int rank, int cp, std::int64_t sequence, bool zigzag) {
  if (!zigzag) return {{sequence / cp * rank, sequence / cp}};
  const std::int64_t chunk = sequence / (2 * std::int64_t{cp});
  return {{chunk * rank, chunk}, {chunk * (2 * std::int64_t{cp} - 1 - rank), chunk}};
}

std::vector<RingStep> ring_steps(int cp, std::int64_t sequence, bool zigzag, Mask mask) {
  const int rank = mask.causal ? cp - 1 : cp / 2;
  const std::vector<Stretch> own = stretches_of(rank, cp, sequence, zigzag);
  std::vector<RingStep> steps;
  for (int i = 0; i < cp; ++i) {
    RingStep& step = steps.emplace_back();
    const std::vector<Stretch> arrived = stretches_of((rank - i + cp) % cp, cp, sequence, zigzag);
    for (const Stretch& queries : own) {
      double pairs = 0;
      for (const Stretch& keys : arrived) pairs += attended_pairs(queries, keys, mask);
      if (pairs > 0) step.queries += queries.length;
      step.pairs += pairs;
    }
    for (const Stretch& keys : arrived) {
      const auto sees = [&](const Stretch& queries) { return attended_pairs(queries, keys, mask) > 0; };
      if (std::any_of(own.begin(), own.end(), sees)) step.keys += keys.length;
    }
  }
  if (mask.causal && !zigzag) {
    while (steps.size() > 1 && steps.back().pairs == 0) steps.pop_back();
  }
  return steps;
}

std::int64_t document_share(int cp, std::int64_t document, bool zigzag) {
  const std::int64_t chunks = zigzag ? 2 : 1;
  return (document + chunks * cp - 1) / (chunks * cp) * chunks;
}

std::vector<RingStep> ring_steps_in_documents(int cp, std::int64_t sequence, bool zigzag, Mask mask,
                                              std::int64_t document) {
  const std::int64_t share = document_share(cp, document, zigzag), own = sequence / cp;
  if (share == 0 || share >= own) return ring_steps(cp, sequence, zigzag, mask);
  std::vector<RingStep> out = ring_steps(cp, share * cp, zigzag, mask);
  for (RingStep& step : out) {
    step.queries = step.queries * own / share;
    step.keys = step.keys * own / share;
    step.pairs *= static_cast<double>(own) / static_cast<double>(share);
  }
  return out;
}

}  // namespace plan
