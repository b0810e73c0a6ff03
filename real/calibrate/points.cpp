// SPDX-License-Identifier: Apache-2.0
#include "real/calibrate/points.h"

#include <algorithm>
#include <array>
#include <random>
#include <set>

#include "real/calibrate/cost.h"

namespace real {
namespace {

using config::AttentionRow;
using config::MatmulRow;
using Passes = AttentionRow::Passes;
using Shapes = std::vector<Shape>;

constexpr std::int64_t kMi = 1 << 20;
constexpr int kSustained = 20;  // seconds: a card's clocks settle within some ten

void append(Shapes& to, const Shapes& more) { to.insert(to.end(), more.begin(), more.end()); }

MatmulRow of_dtype(MatmulRow row, spec::Dtype dtype) {
  row.dtype = dtype;
  return row;
}

Shapes matmul_anchors(const Offered& offered) {
  Shapes out{kReferenceMatmul};
  for (const std::int64_t side : {512, 1024, 2048, 4096, 16384}) {
    out.push_back(MatmulRow{.m = side, .n = side, .k = side});
  }
  for (const Accumulated& pair : accumulated()) append(out, {pair.plain, pair.adding});
  for (const std::int64_t side : {2048, 4096, 8192}) {
    out.push_back(MatmulRow{.m = side, .n = side, .k = side, .input_gradient = true});
  }
  if (!offered.fp8) return out;
  for (const std::int64_t side : {8192, 1024, 2048, 4096, 16384}) {
    out.push_back(of_dtype({.m = side, .n = side, .k = side}, spec::Dtype::fp8));
  }
  return out;
}

/// Few large experts and many small ones: the first tell the pace, the last what each group costs.
Shapes grouped_anchors() {
  Shapes out;
  for (const auto& [experts, rows, width] : {std::array<std::int64_t, 3>{8, 1024, 4096},
                                             {128, 128, 1024},
                                             {2, 8192, 4096},
                                             {32, 512, 2048},
                                             {64, 64, 512},
                                             {256, 32, 512},
                                             {16, 1024, 2048}}) {
    out.push_back(MatmulRow{.m = rows, .n = 2 * width, .k = width, .batch = experts, .grouped = true});
    out.push_back(MatmulRow{.m = rows, .n = width, .k = 2 * width, .batch = experts, .grouped = true});
  }
  return out;
}

Shapes attention_anchors() {
  Shapes out;
  for (const Passes pass : {Passes::forward, Passes::backward}) {
    AttentionRow row = reference_attention(pass);
    for (const std::int64_t length : {4096, 1024, 16384}) {
      row.q_len = row.kv_len = length;
      out.push_back(row);
    }
    row = reference_attention(pass);
    row.causal = false;
    out.push_back(row);
    row = reference_attention(pass);
    row.head_dim = row.value_head_dim = 64;
    out.push_back(row);
  }
  return out;
}

Shapes memory_anchors(const Offered& offered) {
  Shapes out;
  for (std::size_t what = 0; what < kMemoryOperators.size(); ++what) {
    MemoryOperator one{static_cast<MemoryOperator::What>(what), 1, kWidth};
    if (one.what == MemoryOperator::What::cast && !offered.fp8) continue;
    if (one.what == MemoryOperator::What::loss_gradient) one.width = kVocabulary;
    const std::int64_t row = bytes_of(one);
    // The smallest stays in the caches and draws no curve: it tells fits that no host's time is inside of the others.
    for (const std::int64_t bytes : {kSmallestMemory, 512 * kMi, 2048 * kMi, 1 * kMi}) {
      one.rows = (bytes + row - 1) / row;
      out.push_back(one);
    }
  }
  return out;
}

Shapes host_anchors() {
  Shapes out;
  for (const Launch::What what :
       {Launch::What::issue, Launch::What::gap, Launch::What::graph_gap, Launch::What::events}) {
    out.push_back(Launch{what});
  }
  using Direction = HostCopy::Direction;
  for (const Direction way : {Direction::to_device, Direction::to_host}) {
    out.push_back(HostCopy{way, true, false, 256 * kMi});
    out.push_back(HostCopy{way, true, true, 256 * kMi});
    out.push_back(HostCopy{way, true, false, 1 * kMi});
    out.push_back(HostCopy{way, false, false, 64 * kMi});
  }
  out.push_back(HostCopy{Direction::both, true, false, 256 * kMi});
  return out;
}

/// NCCL's kernels hold 16 to 24 SMs as a rule.
Shapes interference_anchors() {
  Shapes out;
  using Subject = Beside::Subject;
  for (const int sms : {16, 24, 8, 32, 2, 4}) {
    out.push_back(Beside{Subject::matmul, sms, true});
    out.push_back(Beside{Subject::copy, sms, false});
    out.push_back(Beside{Subject::copy, sms, true});
    out.push_back(Beside{Subject::attention, sms, true});
  }
  return out;
}

/// As nccl-tests rounds them: NCCL moves shares that do not begin at a multiple of 16 bytes by slower loads, as
/// nobody's step has them.
std::int64_t in_whole_shares(CollectiveShape::Op op, std::int64_t bytes, int ranks) {
  using Op = CollectiveShape::Op;
  const bool shared = op == Op::all_gather || op == Op::reduce_scatter || op == Op::all_to_all;
  const std::int64_t whole = shared ? std::int64_t{16} * ranks : 16;
  return bytes / whole * whole;
}

/// Sizes as nccl-tests sweeps them, every second doubling first.
void sweep(Shapes& out, int ranks, int nodes, int first_doubling) {
  for (std::size_t i = 0; i < kCollectiveOps.size(); ++i) {
    const auto op = static_cast<CollectiveShape::Op>(i);
    // A ring over several nodes is as slow as its hops between them: two GPUs of two nodes tell what one of those
    // takes.
    if (op == CollectiveShape::Op::send && nodes > 1 && ranks > 2) continue;
    for (int doubling = first_doubling; doubling <= 30; doubling += 2) {
      const std::int64_t bytes = in_whole_shares(op, std::int64_t{1} << doubling, ranks);
      if (bytes > 0) out.push_back(CollectiveShape{op, bytes, ranks, nodes});
    }
  }
}

/// Over all GPUs of the nodes, over one of each, and inside of the first.
Shapes collectives(const Offered& offered, int first_doubling) {
  Shapes out;
  for (int nodes = offered.nodes; nodes >= 2; nodes /= 2) {
    sweep(out, nodes * offered.gpus, nodes, first_doubling);
    if (offered.gpus > 1) sweep(out, nodes, nodes, first_doubling);
  }
  for (int ranks = offered.gpus; ranks >= 2; ranks /= 2) sweep(out, ranks, 1, first_doubling);
  return out;
}

Shapes anchors(const Offered& offered) {
  Shapes out = matmul_anchors(offered);
  for (const Shapes& more : {memory_anchors(offered), grouped_anchors(), attention_anchors(), host_anchors(),
                             interference_anchors(), collectives(offered, 10)}) {
    append(out, more);
  }
  return out;
}

/// Share of the models' time that a second of timing covers, the most first.
Shapes by_worth(const std::vector<Used>& used, const Offered& offered) {
  std::vector<std::pair<double, Shape>> worth;
  for (const Used& one : used) {
    worth.emplace_back(one.share / cost(one.shape).si(), one.shape);
    const auto* matmul = std::get_if<MatmulRow>(&one.shape);
    // In fp8 all passes have their operands' rows along the sum.
    if (!matmul || !offered.fp8 || matmul->over_tokens() || matmul->input_gradient || matmul->grouped ||
        (matmul->m | matmul->n | matmul->k) % 16 != 0)
      continue;
    const Shape narrow = of_dtype(*matmul, spec::Dtype::fp8);
    worth.emplace_back(one.share / 2 / cost(narrow).si(), narrow);
  }
  std::stable_sort(worth.begin(), worth.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  Shapes out;
  for (auto& [value, shape] : worth) out.push_back(std::move(shape));
  return out;
}

/// Fisher and Yates; std::shuffle is another one with every library.
void shuffle(Shapes& shapes) {
  std::mt19937_64 random(1);
  for (std::size_t left = shapes.size(); left > 1; --left) std::swap(shapes[left - 1], shapes[random() % left]);
}

}  // namespace

std::vector<Accumulated> accumulated() {
  std::vector<Accumulated> out;
  for (const std::int64_t k : {2048, 4096}) {
    const MatmulRow plain{.m = 8192, .n = 8192, .k = k, .weight_gradient = true};
    MatmulRow adding{.m = 8192, .n = 8192, .k = k};
    adding.out = spec::Dtype::fp32;
    adding.accumulates = true;
    out.push_back({plain, adding});
  }
  return out;
}

Shapes grid(const Offered& offered) {
  Shapes out;
  const std::vector<std::int64_t> sides{256, 512, 1024, 1536, 2048, 3072, 4096, 6144, 8192, 12288, 16384};
  for (const std::int64_t m : sides) {
    for (const std::int64_t n : sides) {
      for (const std::int64_t k : sides) {
        out.push_back(MatmulRow{.m = m, .n = n, .k = k});
        if (offered.fp8) out.push_back(of_dtype({.m = m, .n = n, .k = k}, spec::Dtype::fp8));
      }
    }
  }
  for (const Passes pass : {Passes::forward, Passes::backward}) {
    AttentionRow row = reference_attention(pass);
    for (const std::int64_t length : {512, 1024, 2048, 4096, 8192, 16384}) {
      for (const int heads : {8, 16, 32}) {
        for (const int width : {64, 128}) {
          for (const bool causal : {true, false}) {
            row.q_len = row.kv_len = length;
            row.heads = heads;
            row.head_dim = row.value_head_dim = width;
            row.causal = causal;
            out.push_back(row);
          }
        }
      }
    }
  }
  append(out, collectives(offered, 11));
  shuffle(out);
  return out;
}

std::vector<Point> collective_points(const Offered& offered) {
  std::vector<Point> out;
  for (const int first_doubling : {10, 11}) {
    for (const Shape& shape : collectives(offered, first_doubling)) out.push_back({shape});
  }
  return out;
}

std::vector<Point> points(const std::vector<Used>& used, const Offered& offered) {
  std::vector<Point> out;
  std::set<std::string> known;
  for (const Shapes& some : {anchors(offered), by_worth(used, offered), grid(offered)}) {
    for (const Shape& shape : some) {
      if (known.insert(key(shape)).second) out.push_back({shape});
    }
  }
  out.push_back({Sustained{kSustained}, true});
  return out;
}

}  // namespace real
