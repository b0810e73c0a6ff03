// core/spec/packing.h -- training.packing: several documents in one sequence, none of which attends to another.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "core/base/fault.h"

namespace spec {

struct Training;

/// Lengths of documents in tokens: those of a list, or a mean with a standard deviation.
struct Packing {
  std::vector<std::int64_t> lengths;
  std::int64_t mean = 0, deviation = 0;
  bool operator==(const Packing&) const = default;
};

/// Length of the document that a token finds itself in, on average over tokens: sum of squares over sum, which is what
/// attention pays for. 0 without packing, where one fills the sequence, and in serving.
std::int64_t document_length(const Training&);
/// The same of the pieces into which chunks of `chunk` tokens cut each document; 0 where neither cuts the sequence.
std::int64_t chunk_length(const Training&, std::int64_t chunk);

std::vector<base::Fault> packing_faults(const Training&);

}  // namespace spec
