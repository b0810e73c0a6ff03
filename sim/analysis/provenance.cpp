// SPDX-License-Identifier: Apache-2.0
#include "sim/analysis/provenance.h"

#include <map>
#include <set>
#include <string>
#include <type_traits>
#include <variant>

#include "core/base/text.h"
#include "sim/network/collective_table.h"

namespace sim {
namespace {

result::Provenance of(std::string what, bool measured, const std::string& source) {
  return {std::move(what), measured ? "measured" : "assumed", source};
}

const spec::PathCurve& curve_of(const spec::NetworkCalibration& path, plan::CollectiveKind kind) {
  switch (kind) {
    case plan::CollectiveKind::all_gather: return path.all_gather;
    case plan::CollectiveKind::reduce_scatter: return path.reduce_scatter;
    case plan::CollectiveKind::all_to_all: return path.all_to_all;
    case plan::CollectiveKind::shift: return path.send;
    case plan::CollectiveKind::broadcast: return path.broadcast.offered() ? path.broadcast : path.all_gather;
    case plan::CollectiveKind::all_reduce: break;
  }
  return path.all_reduce;
}

constexpr const char* kKernelNames[] = {"unfused", "fused_softmax", "flash1", "flash2", "flash3", "cudnn"};

class Collector {
 public:
  explicit Collector(const spec::Cluster& cluster) : node_(cluster.node), fabric_(cluster.fabric) {}

  void add(const plan::Matmul& w) {
    const spec::MatmulCurve& curve = node_.calibration.matmul[static_cast<int>(w.dtype)];
    note(of("matmul " + std::string(spec::name(w.dtype)) + on_gpu(), curve.from.measured, curve.from.source));
  }
  void add(const plan::Attention& w) {
    const spec::AttentionCurve& curve = node_.calibration.attention[static_cast<int>(w.kernel)];
    note(of(std::string("attention ") + kKernelNames[static_cast<int>(w.kernel)] + on_gpu(), curve.from.measured,
            curve.from.source));
  }
  void add(const plan::MemoryBound& w) {
    const int kind = static_cast<int>(w.kind);
    const spec::MemoryCurve& curve = node_.calibration.memory[kind];
    note(of(std::string(spec::kMemoryKindNames[kind]) + " kernels" + on_gpu(), curve.from.measured, curve.from.source));
  }
  void add(const plan::Collective& w) {
    if (w.group.size == 1) return;
    if (w.group.per_domain > 1) note_path(node_.links, w.kind, w.bytes);
    if (w.group.domains > 1) note_path(fabric_.calibration, w.kind, w.bytes);
  }
  void add(const plan::Transfer& w) {
    const spec::NetworkCalibration& path = w.crosses_domain ? fabric_.calibration : node_.links;
    note_path(path, plan::CollectiveKind::shift, w.bytes);
  }
  void add(const plan::HostSync&) {}
  void add(const plan::RatedCopy&) {}  // the job's or the data sheet's own rate
  void add(const plan::Convolution& w) {
    const spec::MatmulCurve& curve = node_.calibration.matmul[static_cast<int>(w.dtype)];
    note(of("convolution " + std::string(spec::name(w.dtype)) + " as a matmul" + on_gpu(), false, curve.from.source));
  }

  void note(result::Provenance p) {
    if (seen_.insert(p.what).second) out_.push_back(std::move(p));
  }
  std::vector<result::Provenance> take() { return std::move(out_); }
  /// Collectives of sizes that their curve was not fitted to, in words.
  std::vector<std::string> extrapolated() const {
    std::vector<std::string> out;
    for (const auto& [what, covered] : beyond_) {
      out.push_back(what + " is extrapolated: its curve was fitted to " + base::human(covered.from) + " to " +
                    base::human(covered.to));
    }
    return out;
  }

 private:
  std::string on_gpu() const {
    return " on " + node_.gpu.name + (node_.calibration.name.empty() ? "" : " (curve " + node_.calibration.name + ")");
  }
  void note_path(const spec::NetworkCalibration& path, plan::CollectiveKind kind, std::int64_t bytes) {
    const spec::PathCurve& curve = curve_of(path, kind);
    const std::string what = std::string(name(kind)) + " over " + (path.name.empty() ? "unnamed links" : path.name);
    note(of(what, curve.measured, curve.source));
    if (outside(curve, bytes)) beyond_.emplace(what, curve.covered);
  }

  const spec::Node& node_;
  const spec::Fabric& fabric_;
  std::set<std::string> seen_;
  std::map<std::string, spec::Covered> beyond_;
  std::vector<result::Provenance> out_;
};

}  // namespace

std::vector<std::string> extrapolated_collectives(const spec::Job& job, const plan::Plan& plan) {
  Collector collector(job.cluster);
  for (const plan::Work& work : plan.works) {
    std::visit([&](const auto& w) { collector.add(w); }, work);
  }
  return collector.extrapolated();
}

std::vector<result::Provenance> provenance(const spec::Job& job, const plan::Plan& plan) {
  Collector collector(job.cluster);
  for (const plan::Work& work : plan.works) {
    std::visit([&](const auto& w) { collector.add(w); }, work);
  }
  collector.note(
      {"clocks under load on " + job.cluster.node.gpu.name, "assumed", job.cluster.node.calibration.power.source});
  collector.note({"host and runtime of " + job.framework.name, "assumed", job.framework.source});
  if (job.strategy.offload.updates_on_host()) {
    collector.note({"optimizer on the host under " + job.framework.name, "assumed", job.framework.source});
  }
  return collector.take();
}

}  // namespace sim
