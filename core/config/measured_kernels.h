// core/config/measured_kernels.h -- kernels that others have timed, from tables of several layouts.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "core/base/units.h"
#include "core/config/measured_collectives.h"
#include "core/spec/dtype.h"
#include "core/spec/strategy.h"

namespace config {

/// C[m,n] = A[m,k] B[k,n], `batch` times.
struct MatmulRow {
  std::int64_t m = 0, n = 0, k = 0, batch = 1;
  spec::Dtype dtype = spec::Dtype::bf16, out = spec::Dtype::bf16;
  bool accumulates = false;
  bool grouped = false;          // `batch` experts
  bool input_gradient = false;   // B is stored [k, n], as an input gradient's weights are
  bool weight_gradient = false;  // A is stored [k, m], too; so it is where the result is added to
  bool holds_cast = false;       // the time holds the cast of A from 16 bits, too

  double flops() const { return 2.0 * static_cast<double>(m * batch) * static_cast<double>(n * k); }
  /// Of a weight's gradient, added to C or not: k counts tokens, and is no row's length.
  bool over_tokens() const { return accumulates || weight_gradient; }
};

struct AttentionRow {
  enum class Passes : std::uint8_t { forward, backward, both };
  Passes passes = Passes::forward;
  std::optional<spec::AttentionKernel> kernel;    // not told: the library's choice for the GPU
  std::int64_t batch = 0, q_len = 0, kv_len = 0;  // tokens
  int heads = 0, kv_heads = 0, head_dim = 0, value_head_dim = 0;
  bool causal = true;
  spec::Dtype dtype = spec::Dtype::bf16;
};

struct MemoryRow {
  int kind = 0;            // of spec::kMemoryKindNames
  std::int64_t bytes = 0;  // read and written
};

struct MeasuredKernel {
  std::string gpu;  // as its source names it
  int source = 0;   // of KernelTables::sources
  std::variant<MatmulRow, AttentionRow, MemoryRow> shape;
  base::Seconds time;
  bool sustained = false;  // a run long enough for clocks to fall to what the power limit allows
};

struct KernelTables {
  std::vector<std::string> sources;  // "owner/repository path @ commit"
  std::vector<MeasuredKernel> rows;
  std::vector<MeasuredCollective> collectives;
  std::map<std::string, int> left_out;  // why, and how many rows

  /// The place of a source in `sources`, which it joins when it is new.
  int source(const std::string& name);
};

/// Appends the rows of one table. `.jsonl`: one object a line with kind, gpu, dtype, shape, time_us or tflops or
/// gb_per_s, source; or a collective (core/config/collective_jsonl.h). `.csv`: sweeps of matmuls
/// (gpu,dtype,kernel,m,n,k,latency_us,...) or attention forward
/// (gpu,dtype,kernel,batch,seq,heads,kv_heads,head_dim,latency_us,...), told apart by their header, which may end with
/// source. Either may be packed by gzip (`.gz`). Rows that no price is meant for are counted in `left_out`. Throws
/// base::InputError with file, line and column: an unknown column or key, a row that cannot be read, another kind of
/// file.
void read_kernels(const std::string& path, KernelTables&);

}  // namespace config
