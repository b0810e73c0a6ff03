// core/plan/work.h -- what an operator does, without saying how fast: shapes, bytes and groups. Equal works are
// interned and priced once. sim/cost gives them a time, real/ runs them with kernels and NCCL.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstdint>
#include <variant>

#include "core/spec/dtype.h"
#include "core/spec/model.h"
#include "core/spec/strategy.h"

namespace plan {

/// C[m,n] = A[m,k] B[k,n], `batch` times; operands in `dtype`, fp32 accumulation inside.
struct Matmul {
  std::int64_t m = 0, n = 0, k = 0, batch = 1;
  spec::Dtype dtype = spec::Dtype::bf16;
  spec::Dtype out = spec::Dtype::bf16;
  bool accumulates = false;  // C += A B: C is read too (gradient accumulation inside the weight gradient)
  bool grouped = false;      // `batch` experts, each with operands of its own and m (or k) tokens by routing
  bool gradient = false;     // of 8-bit operands: partial sums are promoted to fp32 as they are made, for precision
  /// Of a linear layer: how operands lie. C [tokens, out] = A [tokens, in] W^T; [tokens, in] = dC W; [in, out] = A^T
  /// dC, where k counts tokens and is no row's length.
  enum class Pass : std::uint8_t { forward, input_gradient, weight_gradient } pass = Pass::forward;
  auto operator<=>(const Matmul&) const = default;
};

/// Fused attention (flash1 flash2 flash3 cudnn) of one microbatch on one rank. The unfused kernels are lowered to
/// matmuls and memory-bound works instead.
struct Attention {
  spec::AttentionKernel kernel = spec::AttentionKernel::flash2;
  std::int64_t batch = 0, q_len = 0, kv_len = 0;  // tokens
  int heads = 0, kv_heads = 0, head_dim = 0;      // on this rank
  bool causal = true;
  std::int64_t window = 0;  // tokens each query sees; 0: all
  bool backward = false;
  bool dropout = false;
  spec::Dtype dtype = spec::Dtype::bf16;
  int value_head_dim = 0;     // of values and output where it differs from that of queries and keys; 0: head_dim
  std::int64_t document = 0;  // tokens of each document of a packed sequence, none attends to another; 0: one document
  std::int64_t kv_element = 0;  // bytes of a number of K and V where they come from a cache; 0: of `dtype`
  bool values_in_keys = false;  // values are the first numbers of keys and read with them (latent attention, decoding)
  int value_dim() const { return value_head_dim > 0 ? value_head_dim : head_dim; }
  auto operator<=>(const Attention&) const = default;
};

/// One pass of a convolution over square maps, channels last; groups = in is depthwise.
struct Convolution {
  enum class Pass : std::uint8_t { forward, data_gradient, weight_gradient };
  Pass pass = Pass::forward;
  std::int64_t batch = 0, size = 0;  // samples; height and width of the input
  std::int64_t in = 0, out = 0;      // channels
  int kernel = 1, stride = 1, padding = 0;
  std::int64_t groups = 1;
  spec::Dtype dtype = spec::Dtype::bf16;    // of the multiplication
  spec::Dtype storage = spec::Dtype::bf16;  // of the tensors
  std::int64_t out_size() const { return (size + 2 * padding - kernel) / stride + 1; }
  auto operator<=>(const Convolution&) const = default;
};

/// Kernels that wait for memory. Bytes are what a perfectly cached run of these kernels moves through HBM.
struct MemoryBound {
  /// eager_norm: an RMSNorm by the operation, whose kernels make sums of rows between products.
  enum class Kind : std::uint8_t {
    elementwise,
    norm,
    softmax,
    embedding,
    loss,
    optimizer,
    copy,
    reduce,
    cast,
    eager_norm
  };
  Kind kind = Kind::elementwise;
  std::int64_t read = 0, written = 0;  // bytes
  int kernels = 1;                     // launches that share these bytes
  int tensors = 1;                     // operands of experts side by side, which some frameworks take one by one
  std::int64_t waits = 0;              // nanoseconds beside what the bytes take
  auto operator<=>(const MemoryBound&) const = default;
};

/// Which ranks are the groups of an axis: member i of a group is rank first + i * stride, for each first whose place in
/// its block of ranks is one of `starts` from `offset` on; a group with a member beyond `ranks` does not exist. What a
/// simulated fabric needs to let them all run at once.
struct Layout {
  int stride = 1, starts = 1, block = 1;
  int ranks = 0;  // of the job; 0: not told
  int offset = 0;
  auto operator<=>(const Layout&) const = default;
};

/// Where the members of a group sit; size to sharing are all that a closed-form price needs of the fabric.
struct GroupShape {
  int size = 1;        // members
  int per_domain = 1;  // members inside one NVLink domain (or one node without NVLink)
  int domains = 1;     // domains that the group spans
  int sharing = 1;     // groups of this axis that use the same node's NICs at once (this one included)
  Layout layout = {};
  auto operator<=>(const GroupShape&) const = default;
};

enum class CollectiveKind : std::uint8_t {
  all_reduce,
  all_gather,
  reduce_scatter,
  all_to_all,
  broadcast,
  reduce,
  shift
};

/// `bytes` as nccl-tests counts them: the whole buffer of one rank (all_reduce, broadcast, reduce), the gathered result
/// (all_gather), the input before scattering (reduce_scatter), what one rank sends to all (all_to_all),
/// or to the next member while it receives as much from the one before (shift).
struct Collective {
  CollectiveKind kind = CollectiveKind::all_reduce;
  std::int64_t bytes = 0;
  GroupShape group;
  std::int64_t crossing = -1;  // all_to_all: bytes of them that leave the NVLink domain; -1: an even share
  bool by_library = false;     // all_to_all: of a library beside NCCL, whose call takes time around its kernels
  bool copy_engine = false;    // shift: by copy engines, which take no SM from what runs beside them
  auto operator<=>(const Collective&) const = default;
};

/// One direction of a point-to-point transfer between pipeline stages.
struct Transfer {
  std::int64_t bytes = 0;
  bool crosses_domain = false;  // over the fabric; otherwise NVLink (or PCIe)
  int sharing = 1;              // transfers that use the same NICs at once
  Layout layout = {};           // of the pairs
  auto operator<=>(const Transfer&) const = default;
};

/// The host waits for the device before it issues more (a loss read back, a gradient norm checked).
struct HostSync {
  auto operator<=>(const HostSync&) const = default;
};

/// The chunks of a recurrent layer's sequences, one pass, behind its convolution (spec::Recurrent): matmuls inside each
/// chunk of `chunk` tokens, and a state of state x head_dim numbers a head from one to the next.
struct Recurrence {
  spec::Recurrent::Kind kind = spec::Recurrent::Kind::mamba2;
  std::int64_t batch = 0, length = 0;  // sequences and their tokens
  int heads = 0, head_dim = 0;         // of values, on this rank
  int groups = 0, state = 0;           // heads of keys and queries, and their width
  int chunk = 0;
  bool backward = false;
  spec::Dtype dtype = spec::Dtype::bf16;
  auto operator<=>(const Recurrence&) const = default;
};
/// Kernels that the library issues for it.
int scan_kernels(const Recurrence&);

/// Scores of an indexer's heads (spec::Indexer), which share one key a token, summed over the heads by weights: of each
/// query with all keys before it, written in fp32, or with those that it chose. A loss makes the latter again, of
/// attention's own heads too.
struct IndexScores {
  std::int64_t batch = 0, q_len = 0, kv_len = 0;  // tokens
  int heads = 0, head_dim = 0;
  bool causal = true;
  std::int64_t chosen = 0;  // keys of each query; 0: all
  bool backward = false;
  spec::Dtype dtype = spec::Dtype::bf16;
  std::int64_t document = 0;  // as Attention's
  auto operator<=>(const IndexScores&) const = default;
};
/// Pairs of a query and a key that it sees: of one head, all queries of the batch.
double pairs_of(const Attention&);
double pairs_of(const IndexScores&);

/// Bytes over a path whose rate the job or the node's data sheet states: files, copies over PCIe.
struct RatedCopy {
  std::int64_t bytes = 0;
  std::int64_t rate = 1;  // bytes/s of this rank
  auto operator<=>(const RatedCopy&) const = default;
};

using Work = std::variant<Matmul, Attention, MemoryBound, Collective, Transfer, HostSync, Convolution, RatedCopy,
                          Recurrence, IndexScores>;

/// Multiply-adds count as two. Causal attention counts half of the square, a window only what it sees; backward of
/// flash kernels counts 2.5 times the forward (five matmuls for two) of which the recomputed one is hardware work only.
double hardware_flops(const Work&);

}  // namespace plan
