// SPDX-License-Identifier: Apache-2.0
#include "core/plan/family.h"

#include <type_traits>

#include "core/spec/calibration.h"

namespace plan {
namespace {

std::string family_of(CollectiveKind kind) {
  switch (kind) {
    case CollectiveKind::all_reduce: return "all_reduce";
    case CollectiveKind::all_gather: return "all_gather";
    case CollectiveKind::reduce_scatter: return "reduce_scatter";
    case CollectiveKind::all_to_all: return "all_to_all";
    case CollectiveKind::broadcast: return "broadcast";
    case CollectiveKind::reduce: return "reduce_to_one";
    case CollectiveKind::shift: return "send_recv";
  }
  return "";
}

}  // namespace

std::string family_of(const Work& work) {
  return std::visit(
      [](const auto& w) -> std::string {
        using W = std::decay_t<decltype(w)>;
        if constexpr (std::is_same_v<W, Matmul>) {
          return "matmul";
        } else if constexpr (std::is_same_v<W, Attention>) {
          return w.backward ? "attention backward" : "attention forward";
        } else if constexpr (std::is_same_v<W, MemoryBound>) {
          const auto kind = w.kind == MemoryBound::Kind::eager_norm ? MemoryBound::Kind::norm : w.kind;
          return std::string(spec::kMemoryKindNames[static_cast<int>(kind)]);
        } else if constexpr (std::is_same_v<W, Collective>) {
          return family_of(w.kind);
        } else if constexpr (std::is_same_v<W, Transfer>) {
          return "send_recv";
        } else if constexpr (std::is_same_v<W, Convolution>) {
          return "convolution";
        } else if constexpr (std::is_same_v<W, Recurrence>) {
          return w.backward ? "scan backward" : "scan forward";
        } else if constexpr (std::is_same_v<W, IndexScores>) {
          return w.backward ? "index scores backward" : "index scores forward";
        } else if constexpr (std::is_same_v<W, RatedCopy>) {
          return "host_copy";
        } else {
          static_assert(std::is_same_v<W, HostSync>);
          return "host_sync";
        }
      },
      work);
}

int members_of(const Work& work) {
  const auto* collective = std::get_if<Collective>(&work);
  return collective == nullptr ? 0 : collective->group.size;
}

}  // namespace plan
