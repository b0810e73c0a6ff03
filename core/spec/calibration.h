// core/spec/calibration.h -- how far real kernels stay below the data sheet: curves per GPU and kernel family, fitted
// to measurements (topologies/calibrations/*.yaml, each with its sources). No row of validation/ is a calibration.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/units.h"
#include "core/spec/dtype.h"
#include "core/spec/generation.h"
#include "core/spec/model.h"
#include "core/spec/network_calibration.h"
#include "core/spec/strategy.h"

namespace spec {

/// Where a curve comes from, printed beside every prediction that uses it.
struct Provenance {
  bool measured = false;   // fitted to rows of this GPU; false: taken from a related GPU or a stated assumption
  std::string source;      // repositories and files of the rows, or the reason of the assumption
  int rows = 0;            // rows fitted
  double residual = 0.15;  // standard deviation of log(predicted / measured) over them, or the spread assumed
};

/// A part of a matmul's curve that has rows of its own; a source that is empty: nothing is known, and it changes
/// nothing.
struct CurvePart {
  Provenance from = {};
  bool known() const { return !from.source.empty(); }
};
/// Many products at once, as experts need them.
struct GroupedPace : CurvePart {
  double pace = 1;          // over that of a batched matmul
  base::Seconds each = {};  // one more for each group
};
/// Operands whose rows do not begin at multiples of 16 bytes.
struct UnalignedPace : CurvePart {
  double rows_of_8 = 1, rows_of_2 = 1;  // rows begin at multiples of 8, of 2 bytes
};
/// Gradients of a linear layer over its forward.
struct PassPaces : CurvePart {
  double input_gradient = 1, weight_gradient = 1;
};
/// Partial sums promoted to fp32 (plan::Matmul::gradient).
struct PromotedPace : CurvePart {
  double pace = 1;
};

/// Matmul C[m,n] = A[m,k] B[k,n] by one library on one GPU and dtype; see sim/cost/matmul.h for the formula.
struct MatmulCurve {
  double ceiling = 0;             // best fraction of the dense peak, short run; 0: not calibrated
  double tile_m = 0, tile_n = 0;  // output tile of one block; 0: nothing is rounded up
  double half_tile = 1;           // pace of a tile of half the area over that of a whole one
  double quarter_tile = 1;        // the same for a quarter
  double k_half = 0;              // depth at which the main loop reaches half of the ceiling's pace
  double wave_share = 0;          // 1: a partial wave costs a whole one; 0: costs only its share
  double memory = 1;              // fraction of the data-sheet bandwidth at which operands stream
  base::Seconds overhead;         // prologue, epilogue and launch of one kernel
  Provenance from;
  GroupedPace grouped = {};     // by the library that frameworks with experts of their own call
  GroupedPace grouped_mm = {};  // by torch._grouped_mm, one kernel for all groups; unknown: as `grouped`
  UnalignedPace unaligned = {};
  PassPaces passes = {};
  PromotedPace gradients = {};
};

/// Attention forward and backward by one kernel; see sim/cost/attention.h for the formula.
struct AttentionCurve {
  double forward = 0, backward = 0;          // best fraction of the dense peak at head_dim 128; 0: not calibrated
  double ramp = 0;                           // tokens of keys that the prologue and epilogue of a query row cost
  double backward_ramp = 0;                  // the same of a backward pass; 0: as much
  double diagonal = 0;                       // tokens of keys more, when causal: blocks that the mask cuts
  double causal = 1;                         // pace under a causal mask over that without (uneven blocks)
  double head_dim_64 = 1, head_dim_256 = 1;  // pace over that at head_dim 128, linear between
  double unequal_heads = 0;                  // the same where values are narrower than keys; 0: as heads between
  double low_precision = 1;                  // fraction of `forward` reached against the peak of fp8
  double backward_low_precision = 0;         // the same of `backward`; 0: as much
  bool low_precision_measured = false;       // both from rows in fp8; otherwise from another card's
  double dropout = 1;                        // time with dropout over time without
  double index = 0;                          // of `sparse`: peak fraction at which an indexer scores all keys
  base::Seconds overhead;                    // launch and tail of one pass
  bool backward_measured = false;            // `from` speaks of the forward pass; backward may be assumed from it
  Provenance from;
};

inline constexpr int kMemoryKinds = 10;
/// In the order of plan::MemoryBound::Kind.
inline constexpr std::array<std::string_view, kMemoryKinds> kMemoryKindNames{
    "elementwise", "norm", "softmax", "embedding", "loss", "optimizer", "copy", "reduce", "cast", "eager_norm"};

/// One kind of kernel that waits for memory; see sim/cost/memory_bound.h for the formula.
struct MemoryCurve {
  double efficiency = 0;   // of the data-sheet bandwidth, large sizes; 0: not calibrated
  base::Seconds overhead;  // launch and tail of one kernel
  Provenance from;
};

/// One kind of recurrent layer; see sim/cost/recurrence.h for the formula.
struct RecurrenceCurve {
  double forward = 0, backward = 0;               // of the data-sheet bandwidth; 0: not calibrated
  base::Seconds chunk = {}, backward_chunk = {};  // of each chunk of a sequence, one behind the other
  base::Seconds overhead;                         // launch and tail of one kernel
  Provenance from;
};

/// How clocks fall under the power that a long step draws; see sim/cost/power.h for the law.
struct PowerState {
  double sustained = 1;  // pace of the SMs in a long step over that of the short runs fitted here, at `power`
  double exponent = 0;   // that pace grows as power^exponent when the limit is moved, up to 1
  double spread = 0;     // relative standard deviation of a kernel's time between boards of one kind
  double jitter = 0;     // the same from one run to the next on one board
  base::Watts power;     // board limit at which `sustained` holds; 0: unknown, the limit has no effect
  double residual = 0;   // standard deviation of log(sustained) between sources that disagree about it
  std::string source;
};

struct Calibration {
  std::string name;  // empty: none; the data sheet alone is used and the report says so
  std::array<MatmulCurve, kDtypes> matmul{};
  std::array<AttentionCurve, kAttentionKernels> attention{};
  std::array<MemoryCurve, kMemoryKinds> memory{};
  std::array<RecurrenceCurve, 2> recurrence{};  // in the order of Recurrent::Kind
  PowerState power;
  std::string gpu;                       // data sheet that the fractions are of; empty: none is fitted to rows
  std::optional<Generation> generation;  // of `gpu`, where that is known and not the node's
  std::vector<std::string> measured_as;  // names of that GPU in tables of measured kernels
  double accumulation = 0;  // share of the time to read and write an fp32 sum that a matmul adding to it does not hide
  bool grouped_mm = false;  // experts go through torch._grouped_mm; set by resolve(), as the framework calls it
  bool unaligned_on_cuda_cores = true;  // batched matmuls whose rows tensor cores cannot load; sim/cost/matmul.cpp
  double compute_slowdown = 1.08;       // of a kernel while a communication kernel holds SMs and memory bandwidth
  double comm_slowdown = 1.05;          // of a communication kernel while a compute kernel runs
  std::string accumulation_source, unaligned_source, interference_source;
  std::vector<std::string> sources;
};

}  // namespace spec
