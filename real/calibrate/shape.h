// real/calibrate/shape.h -- what one point of a calibration times.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <variant>

#include "core/config/measured_kernels.h"
#include "real/calibrate/memory_operator.h"

namespace real {

/// Between the host's memory and the GPU's.
struct HostCopy {
  enum class Direction : std::uint8_t { to_device, to_host, both };  // both: the time of two copies side by side
  Direction direction = Direction::to_device;
  bool pinned = true;
  bool beside_matmul = false;  // matmuls run on the GPU meanwhile
  std::int64_t bytes = 0;      // each way
};

/// What the smallest kernel costs, one of many: the host's time to issue it, from one to the next on the device when
/// each waits for the one before, the same inside a CUDA graph; and two events with nothing between them, which every
/// other time holds.
struct Launch {
  enum class What : std::uint8_t { issue, gap, graph_gap, events };
  What what = What::issue;
};

/// A kernel while another one runs: a matmul or an attention beside a copy that holds `sms` SMs, or that copy, beside
/// matmuls or (not `crowded`) alone.
struct Beside {
  enum class Subject : std::uint8_t { matmul, attention, copy };
  Subject subject = Subject::matmul;
  int sms = 0;
  bool crowded = true;
};

/// The matmul of kReferenceMatmul for so long, two and then a copy of a third of their time: its time in the last
/// third.
struct Sustained {
  int seconds = 0;
};

/// By NCCL, on the first GPUs of the first nodes, as many of each. `bytes` as nccl-tests counts them; send: to the next
/// rank, and as many from the one before.
struct CollectiveShape {
  enum class Op : std::uint8_t { all_reduce, all_gather, reduce_scatter, all_to_all, broadcast, send };
  Op op = Op::all_reduce;
  std::int64_t bytes = 0;
  int ranks = 0, nodes = 1;
};

inline constexpr std::array<std::string_view, 6> kCollectiveOps{"all_reduce", "all_gather", "reduce_scatter",
                                                                "all_to_all", "broadcast",  "send"};
constexpr std::string_view name(CollectiveShape::Op op) { return kCollectiveOps[static_cast<std::size_t>(op)]; }

/// A matmul is one, or, where it is `grouped`, one for each of `batch` experts on rows of its own, by one kernel.
using Shape = std::variant<config::MatmulRow, config::AttentionRow, MemoryOperator, HostCopy, Launch, Beside, Sustained,
                           CollectiveShape>;

/// What stands beside others, and what long runs repeat.
inline constexpr config::MatmulRow kReferenceMatmul{.m = 8192, .n = 8192, .k = 8192};
/// Batch 1, 4,096 tokens, 32 heads over 8 of keys and values, 128 wide, causal: a layer of Llama 3 8B.
config::AttentionRow reference_attention(config::AttentionRow::Passes);

/// {"kind": "matmul", "m": 8192, ...}
nlohmann::json to_json(const Shape&);
/// Throws nlohmann::json::exception or std::invalid_argument: no shape.
Shape shape_from(const nlohmann::json&);
/// Of operators that files of earlier versions hold and that nothing times any more, since no step ran their kernels.
bool is_retired(const nlohmann::json&);
/// The same for equal shapes, another one for others.
std::string key(const Shape&);
/// For people: "matmul bf16 8192 x 8192 x 8192".
std::string words(const Shape&);

}  // namespace real
