// SPDX-License-Identifier: Apache-2.0
#include "sim/analysis/provenance.h"

#include <algorithm>
#include <set>
#include <string>
#include <type_traits>
#include <variant>

namespace sim {
namespace {

result::Provenance of(std::string what, bool measured, const std::string& source) {
  return {std::move(what), measured ? "measured" : "assumed", source};
}

const char* op_name(plan::CollectiveKind kind) {
  switch (kind) {
    case plan::CollectiveKind::all_reduce: return "all_reduce";
    case plan::CollectiveKind::all_gather: return "all_gather";
    case plan::CollectiveKind::reduce_scatter: return "reduce_scatter";
    case plan::CollectiveKind::all_to_all: return "all_to_all";
    case plan::CollectiveKind::broadcast: return "broadcast";
    case plan::CollectiveKind::reduce: return "reduce";
    case plan::CollectiveKind::shift: return "send";
  }
  return "";
}

const spec::PathCurve& curve_of(const spec::NetworkCalibration& path, plan::CollectiveKind kind) {
  switch (kind) {
    case plan::CollectiveKind::all_gather: return path.all_gather;
    case plan::CollectiveKind::reduce_scatter: return path.reduce_scatter;
    case plan::CollectiveKind::all_to_all: return path.all_to_all;
    case plan::CollectiveKind::shift: return path.send;
    default: return path.all_reduce;
  }
}

constexpr const char* kKernelNames[] = {"unfused", "fused_softmax", "flash1", "flash2", "flash3", "cudnn"};

class Collector {
 public:
  Collector(const spec::Node& node, const spec::Fabric& fabric) : node_(node), fabric_(fabric) {}

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
    if (w.group.per_domain > 1) note_path(node_.links, curve_of(node_.links, w.kind), op_name(w.kind));
    if (w.group.domains > 1) note_path(fabric_.calibration, curve_of(fabric_.calibration, w.kind), op_name(w.kind));
  }
  void add(const plan::Transfer& w) {
    const spec::NetworkCalibration& path = w.crosses_domain ? fabric_.calibration : node_.links;
    note_path(path, path.send, "send");
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

 private:
  std::string on_gpu() const {
    return " on " + node_.gpu.name + (node_.calibration.name.empty() ? "" : " (curve " + node_.calibration.name + ")");
  }
  void note_path(const spec::NetworkCalibration& path, const spec::PathCurve& curve, const char* op) {
    note(of(std::string(op) + " over " + (path.name.empty() ? "unnamed links" : path.name), curve.measured,
            curve.source));
  }

  const spec::Node& node_;
  const spec::Fabric& fabric_;
  std::set<std::string> seen_;
  std::vector<result::Provenance> out_;
};

}  // namespace

std::vector<result::Provenance> provenance(const spec::Job& job, const plan::Plan& plan) {
  std::vector<result::Provenance> out;
  const auto note = [&out](result::Provenance p) {
    const auto same = [&](const result::Provenance& known) { return known.what == p.what; };
    if (std::none_of(out.begin(), out.end(), same)) out.push_back(std::move(p));
  };
  for (int kind = 0; kind < job.cluster.kinds(); ++kind) {
    const spec::Node& node = job.cluster.node_of(kind);
    Collector collector(node, job.cluster.fabric);
    for (const plan::Work& work : plan.works) {
      std::visit([&](const auto& w) { collector.add(w); }, work);
    }
    for (result::Provenance& p : collector.take()) note(std::move(p));
    note({"clocks under load on " + node.gpu.name, "assumed", node.calibration.power.source});
  }
  note({"host and runtime of " + job.framework.name, "assumed", job.framework.source});
  if (job.strategy.offload.updates_on_host()) {
    note({"optimizer on the host under " + job.framework.name, "assumed", job.framework.source});
  }
  return out;
}

}  // namespace sim
