// real/trace/records.h -- what a GPU says it did: kernels, copies and fills with their times, and which operator each
// belongs to. Free of CUDA's types, so that it can be read and joined anywhere. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace real {

/// Names one operator's one execution: dense numbers, given out by whoever launches.
using OperatorInstance = std::uint64_t;

struct DeviceRecord {
  enum class Kind : std::uint8_t { kernel, copy, fill };
  Kind kind = Kind::kernel;
  std::uint64_t start_ns = 0, end_ns = 0;  // of the host's clock
  std::uint32_t correlation = 0;           // of the call that launched it
  std::uint32_t device = 0, stream = 0;
  std::int64_t bytes = 0;  // copies and fills
  std::string name;        // the kernel's; "HtoD" and so on for copies
};

/// The call with this correlation was made on behalf of this operator.
struct Ownership {
  std::uint32_t correlation = 0;
  OperatorInstance owner = 0;
};

struct Records {
  std::vector<DeviceRecord> device;
  std::vector<Ownership> owners;
  std::size_t dropped = 0;  // lost for want of buffers: more than none makes the run void
};

}  // namespace real
