// SPDX-License-Identifier: Apache-2.0
#include "sim/analysis/family.h"

#include <algorithm>
#include <type_traits>
#include <variant>

#include "sim/analysis/provenance.h"
#include "sim/network/closed_form.h"

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
std::string name_of(const plan::MemoryBound& w) {
  return std::string(spec::kMemoryKindNames[static_cast<int>(w.kind)]) + " kernels";
}

std::string over(const std::string& op, const spec::NetworkCalibration& path) {
  return op + " over " + (path.name.empty() ? "unnamed links" : path.name);
}
std::string name_of(const plan::Collective& w, const spec::Cluster& cluster) {
  return over(op_name(w.kind), w.group.domains > 1 ? cluster.fabric.calibration : cluster.node.links);
}
std::string name_of(const plan::Transfer& w, const spec::Cluster& cluster) {
  return over("send", w.crosses_domain ? cluster.fabric.calibration : cluster.node.links);
}

bool outside(const plan::Matmul& w) { return std::min({w.m, w.n, w.k}) < kLeastSide; }
bool outside(const plan::Attention& w) {
  return w.q_len < kFewestTokens || w.kv_len > kMostTokens || w.head_dim > kWidestHead;
}
bool outside(const plan::Convolution&) { return true; }
template <class W>
bool outside(const W&) {
  return false;
}

}  // namespace

bool outside_fit(const plan::Work& work) {
  return std::visit([](const auto& w) { return outside(w); }, work);
}

Family family_of(const plan::Work& work, const spec::Cluster& cluster, const Device& device,
                 const spec::Uncertainty& uncertainty) {
  return std::visit(
      [&](const auto& w) -> Family {
        using W = std::decay_t<decltype(w)>;
        if constexpr (std::is_same_v<W, plan::HostSync>) {
          return {};
        } else if constexpr (std::is_same_v<W, plan::RatedCopy>) {
          return {"copies and files", base::Seconds(static_cast<double>(w.bytes) / static_cast<double>(w.rate)),
                  uncertainty.copies};
        } else if constexpr (std::is_same_v<W, plan::Collective> || std::is_same_v<W, plan::Transfer>) {
          const NetworkPrice cost = price(w, cluster);
          return {name_of(w, cluster), cost.time, cost.residual};
        } else {
          const Price cost = price(w, device);
          return {name_of(w), cost.time, cost.residual * (outside(w) ? uncertainty.outside_fit : 1)};
        }
      },
      work);
}

}  // namespace sim
