// SPDX-License-Identifier: Apache-2.0
#include "core/spec/packing.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "core/spec/training.h"

namespace spec {

std::int64_t document_length(const Training& t) {
  if (!t.packing || t.serves()) return 0;
  double tokens = 0, squares = 0;
  for (const std::int64_t length : t.packing->lengths) {
    tokens += static_cast<double>(length);
    squares += static_cast<double>(length) * static_cast<double>(length);
  }
  if (t.packing->lengths.empty()) {  // E[l^2] / E[l]
    const double deviation = static_cast<double>(t.packing->deviation);
    tokens = static_cast<double>(t.packing->mean);
    squares = tokens * tokens + deviation * deviation;
  }
  if (tokens <= 0) return 0;
  const std::int64_t length = std::max(1LL, std::llround(std::min(squares / tokens, 1e15)));
  return length < t.sequence ? length : 0;  // one document fills the sequence
}

std::int64_t chunk_length(const Training& t, std::int64_t chunk) {
  const std::int64_t document = document_length(t), whole = document > 0 ? document : t.sequence;
  if (chunk <= 0 || chunk >= whole) return document;
  const double rest = static_cast<double>(whole % chunk), full = static_cast<double>(whole - whole % chunk);
  const double squares = full * static_cast<double>(chunk) + rest * rest;
  return std::llround(squares / static_cast<double>(whole));
}

std::vector<base::Fault> packing_faults(const Training& t) {
  if (!t.packing) return {};
  const Packing& p = *t.packing;
  const std::int64_t longest = p.lengths.empty() ? p.mean : *std::max_element(p.lengths.begin(), p.lengths.end());
  if (longest < 1) {
    return {{"training.packing", "tells no length of a document", "write {mean: 2048} or {lengths: [4096, 1024]}"}};
  }
  if (longest <= t.sequence) return {};
  return {{"training.packing",
           "a document of " + std::to_string(longest) + " tokens does not fit into a sequence of " +
               std::to_string(t.sequence),
           "write lengths up to " + std::to_string(t.sequence)}};
}

}  // namespace spec
