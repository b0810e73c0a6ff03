// core/plan/tensor_parallel.h -- column- and row-parallel matmul pairs with the collectives that go before and behind
// them, with and without sequence parallel, and how far they overlap (Shoeybi et al., arXiv 1909.08053; Korthikanti et
// al., arXiv 2205.05198, fig. 5). SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/plan/builder.h"
#include "core/plan/context.h"

namespace plan {

inline constexpr std::string_view kExpertDown = "expert down";  // the second matmul of experts

/// One linear layer on one rank: y[tokens, out] = x[tokens, in] w[in, out].
struct Linear {
  std::string_view name;  // "qkv"
  std::int64_t in = 0, out = 0;
  bool bias = false;
  std::int64_t rows = 0;     // tokens; 0: those of a microbatch
  std::int64_t experts = 1;  // equal layers side by side, each on `rows` tokens of its own (a grouped matmul)
  int halves = 1;            // of `out`, by so many grouped matmuls
  std::array<std::int64_t, 3> parts{};  // `out` of the matmuls that it really is; none: one
  Axis axis = Axis::tp;                 // whose ranks hold a part of it each, unless every rank holds it whole
  bool wide = false;                    // in 16 bits, whatever its layer is in: a router
  bool takes_narrow = false;            // its input comes in the narrow format, cast by what made it
  bool takes_narrow_gradient = false;   // so does the gradient of its output
};

/// How the ranks of its axis cut a linear layer: by outputs, by inputs, not at all.
enum class Side : std::uint8_t { column, row, whole };

struct Placed {
  Linear linear;
  Side side;
};

/// Query, key and value projections; gate and up of a feed-forward: one matmul, or as many as the framework's modules.
Linear qkv_linear(const Context&);
Linear up_linear(const Context&);
/// Behind the attention core; behind the activation.
Linear proj_linear(const Context&);
Linear down_linear(const Context&);

class TensorParallel {
 public:
  TensorParallel(const Context& c, SegmentBuilder& out) : c_(c), out_(out) {}

  /// Forward of a column-parallel layer; gathers the sequence first when sequence parallel, if `gathers`.
  void column_forward(const Linear&, bool gathers = true);
  /// What is left of it where its result may have been kept: the gathering, where the framework keeps gathered inputs.
  void column_forward_again(const Linear&, bool kept, bool gathers = true);
  /// Forward of a row-parallel layer; reduces (or reduce-scatters) behind it, if `reduces`.
  void row_forward(const Linear&, bool reduces = true);
  /// Backward of a row-parallel layer; gathers the gradient first when sequence parallel, if `gathers`.
  void row_backward(const Linear&, bool gathers = true);
  /// Backward of a column-parallel layer; the input is gathered again when sequence parallel, its gradient reduced.
  void column_backward(const Linear&, bool gathers = true, bool reduces = true);

  /// A layer without collectives of its own: whole on this rank, or one of experts, whose tokens are gathered and
  /// summed around it. `side`: how an adapter beside it is cut.
  void full_forward(const Linear&, Side side = Side::whole);
  /// `detached`: nothing goes back through its input.
  void full_backward(const Linear&, Side side = Side::whole, bool detached = false);

  /// A collective over the tensor-parallel group of a tensor of `elements` elements of storage, waited for by the next
  /// compute operator.
  void collective(CollectiveKind, std::int64_t elements, std::string_view name, double element = 0);

 private:
  void matmul(std::int64_t m, std::int64_t n, std::int64_t k, std::string_view name, bool gradient = false,
              int launches = 1);
  /// x w of `rows` tokens, part by part.
  void product(const Linear&, std::int64_t rows, int launches = 1);
  void input_gradient(const Linear&);
  void rescale(SegmentBuilder&, const Linear&, std::int64_t elements, int parts, const char* what);
  void weight_gradient(const Linear&);
  void column_product(const Linear&, bool gathers);
  void row_product(const Linear&, bool reduces);
  /// `element`: bytes; 0: of storage.
  std::int64_t bytes_of(std::int64_t elements, double element) const;
  void communicate(const Collective&, std::string_view name, int launches);
  void start(CollectiveKind, std::int64_t elements, std::string_view name, double element = 0, int launches = 1);
  /// A shard goes to the next rank of userbuffers' ring while another one is multiplied.
  void start_hop(std::int64_t elements, std::string_view name, double element, int launches);
  /// Where the sequence lies behind the batch: the copy that joins gathered shards in their order or puts what each
  /// rank is to get side by side.
  void lay_out(CollectiveKind, std::int64_t elements, std::string_view name, double element = 0);
  std::string called(const Linear&, const char* what) const;

  const Context& c_;
  SegmentBuilder& out_;
};

}  // namespace plan
