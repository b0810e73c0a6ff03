// SPDX-License-Identifier: Apache-2.0
#include "sim/analysis/family.h"

#include <algorithm>
#include <type_traits>
#include <variant>

#include "sim/network/closed_form.h"
#include "sim/network/collective_table.h"

namespace sim {
namespace {

constexpr std::int64_t kLeastSide = 256;  // of m, n and k of the matmuls fitted
constexpr std::int64_t kFewestTokens = 256, kMostTokens = 40'000;
constexpr int kWidestHead = 128;

std::string name_of(const plan::Matmul& w) {
  return (w.grouped ? "grouped matmul " : "matmul ") + std::string(spec::name(w.dtype));
}
std::string name_of(const plan::Attention& w) { return "attention " + std::string(spec::name(w.kernel)); }
std::string name_of(const plan::Convolution& w) { return "convolution " + std::string(spec::name(w.dtype)); }
std::string name_of(const plan::Recurrence& w) { return std::string(spec::name(w.kind)) + " scan"; }
std::string name_of(const plan::IndexScores&) { return "index scores"; }
std::string name_of(const plan::MemoryBound& w) {
  return std::string(spec::kMemoryKindNames[static_cast<int>(w.kind)]) + " kernels";
}

std::string name_of(const plan::Collective& w, const spec::Cluster& cluster) {
  return name(w.kind, w.group.domains > 1 ? cluster.fabric.calibration : cluster.node.links);
}
std::string name_of(const plan::Transfer& w, const spec::Cluster& cluster) {
  return name(plan::CollectiveKind::shift, w.crosses_domain ? cluster.fabric.calibration : cluster.node.links);
}

bool outside_fit(const plan::Matmul& w) { return std::min({w.m, w.n, w.k}) < kLeastSide; }
bool outside_fit(const plan::Attention& w) {
  const bool wide = w.head_dim > kWidestHead && w.kernel != spec::AttentionKernel::sparse;
  return w.q_len < kFewestTokens || w.kv_len > kMostTokens || wide;
}
bool outside_fit(const plan::Convolution&) { return true; }
bool outside_fit(const plan::MemoryBound&) { return false; }
bool outside_fit(const plan::Recurrence&) { return false; }
bool outside_fit(const plan::IndexScores&) { return false; }

template <class W>
Family of_network(const W& w, const NetworkPrice& cost, const spec::Cluster& cluster, const spec::Uncertainty& u) {
  const bool extrapolated = cost.curve && sim::outside(*cost.curve, w.bytes);
  return {name_of(w, cluster), cost.time, cost.residual * (extrapolated ? u.outside_fit : 1)};
}

}  // namespace

Family family_of(const plan::Work& work, const Paths& paths, const Device& device, const spec::Uncertainty& uncertainty,
                 spec::Algorithm algorithm) {
  return std::visit(
      [&](const auto& w) -> Family {
        using W = std::decay_t<decltype(w)>;
        if constexpr (std::is_same_v<W, plan::HostSync>) {
          return {};
        } else if constexpr (std::is_same_v<W, plan::RatedCopy>) {
          return {"copies and files", base::Seconds(static_cast<double>(w.bytes) / static_cast<double>(w.rate)),
                  uncertainty.copies};
        } else if constexpr (std::is_same_v<W, plan::Collective>) {
          return of_network(w, price(w, paths, algorithm), paths.cluster(), uncertainty);
        } else if constexpr (std::is_same_v<W, plan::Transfer>) {
          return of_network(w, price(w, paths), paths.cluster(), uncertainty);
        } else {
          const Price cost = price(w, device);
          return {name_of(w), cost.time, cost.residual * (outside_fit(w) ? uncertainty.outside_fit : 1)};
        }
      },
      work);
}

}  // namespace sim
