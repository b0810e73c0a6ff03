// real/gpu/bench/kit.h -- what the probes of all families work with. A probe prepares a point's operands and returns
// its work, to be given to the stream as often as it is timed. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "kernels/vendor/attention.h"
#include "kernels/vendor/grouped_matmul.h"
#include "kernels/vendor/matmul.h"
#include "real/calibrate/shape.h"
#include "real/gpu/bench/arena.h"

namespace real {

/// Gives an operator to a stream, and returns at once. Throws kernels::DeviceError, base::DeviceError.
using Work = std::function<void(const Stream&)>;

struct Kit {
  Stream stream, other{-1};  // other: what stands beside; of higher priority, as NCCL's streams have it
  Arena arena;
  kernels::vendor::MatmulLibrary matmuls;  // its runs share a workspace: one of them at a time
  std::optional<kernels::vendor::GroupedMatmulLibrary> grouped;
  std::optional<kernels::vendor::AttentionLibrary> attention;

  explicit Kit(base::Bytes most) : arena(most, stream) {}
};

Work prepared(const config::MatmulRow&, Kit&);
Work prepared(const config::AttentionRow&, Kit&);
Work prepared(const MemoryOperator&, Kit&);

/// Times of `work`, caches emptied before each; stopwatch.h says how many.
std::vector<base::Seconds> timed(const Work& work, Kit&, base::Seconds most);

std::vector<base::Seconds> timed(const Launch&, Kit&, base::Seconds most);
std::vector<base::Seconds> timed(const HostCopy&, Kit&, base::Seconds most);
std::vector<base::Seconds> timed(const Beside&, Kit&, base::Seconds most);
/// Those of the last third of `whole`.
std::vector<base::Seconds> timed(const Sustained&, Kit&, base::Seconds whole);

}  // namespace real
