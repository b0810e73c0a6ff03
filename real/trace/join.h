// real/trace/join.h -- device records to the operators that launched them.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "real/trace/records.h"

namespace real {

/// What one operator's launches came to on the device. An operator may be several kernels (a split matmul and its sum).
struct OperatorTime {
  OperatorInstance owner = 0;
  std::uint64_t start_ns = 0, end_ns = 0;  // first start, last end: gaps between its kernels included
  std::uint64_t busy_ns = 0;               // sum of its records
  std::vector<std::string> kernels;        // in order of start
};

struct Joined {
  std::vector<OperatorTime> operators;  // by start
  std::vector<DeviceRecord> orphans;    // that no operator owns
};

/// Two passes over everything, since a record often comes before the one that says whose it is, and in another buffer.
Joined join(const Records&);

}  // namespace real
