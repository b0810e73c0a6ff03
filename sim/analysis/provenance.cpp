// SPDX-License-Identifier: Apache-2.0
#include "sim/analysis/provenance.h"

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <type_traits>
#include <variant>

#include "core/base/text.h"
#include "sim/cost/curves.h"
#include "sim/network/algorithms.h"
#include "sim/network/closed_form.h"
#include "sim/network/collective_table.h"

namespace sim {
namespace {

result::Provenance of(std::string what, bool measured, const std::string& source) {
  return {std::move(what), measured ? "measured" : "assumed", source};
}

const std::string& key_of(const result::Provenance& number) { return number.what; }
const std::string& key_of(const std::string& line) { return line; }

/// What several kinds of node share is told once.
template <class T>
void add_new(std::vector<T>& all, T one) {
  const auto same = [&](const T& known) { return key_of(known) == key_of(one); };
  if (std::none_of(all.begin(), all.end(), same)) all.push_back(std::move(one));
}

class Collector {
 public:
  /// Of all works of the plan on that kind of node.
  Collector(const spec::Job& job, const plan::Plan& plan, int kind)
      : cluster_(job.cluster.of_kind(kind)), node_(cluster_.node), paths_(cluster_), algorithm_(job.network.algorithm) {
    for (const plan::Work& work : plan.works) {
      std::visit([&](const auto& w) { add(w); }, work);
    }
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
  void add(const plan::Matmul& w) {
    const spec::MatmulCurve& curve = matmul_curve(node_.calibration, w.dtype);
    note(of("matmul " + std::string(spec::name(w.dtype)) + on_gpu(), curve.from.measured, curve.from.source));
  }
  void add(const plan::Attention& w) {
    const spec::AttentionCurve& curve = attention_curve(node_.calibration, w.kernel);
    const bool narrow = spec::bytes_of(w.dtype) < 2;
    note(of((narrow ? "attention fp8 " : "attention ") + std::string(spec::name(w.kernel)) + on_gpu(),
            curve.from.measured && (!narrow || curve.low_precision_measured), curve.from.source));
  }
  void add(const plan::MemoryBound& w) {
    const spec::MemoryCurve& curve = memory_curve(node_.calibration, w.kind);
    const std::string kind(spec::kMemoryKindNames[static_cast<int>(w.kind)]);
    note(of(kind + " kernels" + on_gpu(), curve.from.measured, curve.from.source));
  }
  void add(const plan::Recurrence& w) {
    const spec::RecurrenceCurve& curve = recurrence_curve(node_.calibration, w.kind);
    note(of(std::string(spec::name(w.kind)) + " scan" + on_gpu(), curve.from.measured, curve.from.source));
  }
  void add(const plan::IndexScores&) {
    const spec::AttentionCurve& curve = attention_curve(node_.calibration, spec::AttentionKernel::sparse);
    note(of("index scores" + on_gpu(), false, curve.from.source));
  }
  void add(const plan::Collective& w) {
    if (w.group.size == 1) return;
    const spec::PathCurve* ruling = price(w, paths_, algorithm_).curve;
    if (w.group.per_domain > 1) note_path(node_.links, w.kind, w.bytes, ruling);
    if (w.group.domains > 1) note_path(cluster_.fabric.calibration, w.kind, w.bytes, ruling);
    if (!w.by_library) return;
    if (w.group.domains == 1 || w.group.per_domain > 1) note_call(node_.links);
    if (w.group.domains > 1) note_call(cluster_.fabric.calibration);
  }
  void add(const plan::Transfer& w) {
    const spec::NetworkCalibration& path = w.crosses_domain ? cluster_.fabric.calibration : node_.links;
    note_path(path, plan::CollectiveKind::shift, w.bytes, nullptr);
  }
  void add(const plan::HostSync&) {}
  void add(const plan::RatedCopy&) {}  // the job's or the data sheet's own rate
  void add(const plan::Convolution& w) {
    const spec::MatmulCurve& curve = matmul_curve(node_.calibration, w.dtype);
    note(of("convolution " + std::string(spec::name(w.dtype)) + " as a matmul" + on_gpu(), false, curve.from.source));
  }

  void note(result::Provenance p) {
    if (seen_.insert(p.what).second) out_.push_back(std::move(p));
  }
  std::string on_gpu() const {
    return " on " + node_.gpu.name + (node_.calibration.name.empty() ? "" : " (curve " + node_.calibration.name + ")");
  }
  /// `ruling`: the curve that priced it; where it is one of another path, this path's share went by its ring.
  void note_path(const spec::NetworkCalibration& path, plan::CollectiveKind kind, std::int64_t bytes,
                 const spec::PathCurve* ruling) {
    const auto* own =
        std::ranges::find_if(spec::kCurveNames, [&](const auto& c) { return &(path.*c.curve) == ruling; });
    const bool rules = own != std::end(spec::kCurveNames);
    const spec::PathCurve& curve = rules ? *ruling : curve_of(path, kind);
    const bool plain = &curve == &curve_of(path, kind);
    const std::string what = name(kind, path) + (plain ? "" : std::string(" by ") + own->key);
    note(of(what, curve.measured, curve.source));
    if (sim::outside(curve, bytes)) beyond_.emplace(what, curve.covered);
  }

  /// The call of a library's exchange (DeepEP), whatever its bytes.
  void note_call(const spec::NetworkCalibration& path) {
    if (path.experts_call.si() > 0) {
      note(of("calls of experts' exchanges over " + path.name, false, path.experts_call_source));
    }
  }

  const spec::Cluster cluster_;
  const spec::Node& node_;  // of it
  const Paths paths_;
  const spec::Algorithm algorithm_;
  std::set<std::string> seen_;
  std::map<std::string, spec::Covered> beyond_;
  std::vector<result::Provenance> out_;
};

}  // namespace

Origins origins(const spec::Job& job, const plan::Plan& plan) {
  Origins out;
  for (int kind = 0; kind < job.cluster.kinds(); ++kind) {
    Collector of_kind(job, plan, kind);
    for (std::string& line : of_kind.extrapolated()) add_new(out.extrapolated, std::move(line));
    for (result::Provenance& number : of_kind.take()) add_new(out.numbers, std::move(number));
    const spec::Node& node = job.cluster.node_of(kind);
    add_new(out.numbers, {"clocks under load on " + node.gpu.name, "assumed", node.calibration.power.source});
  }
  out.numbers.push_back({"host and runtime of " + job.framework.name, "assumed", job.framework.source});
  if (job.strategy.offload.updates_on_host()) {
    out.numbers.push_back({"optimizer on the host under " + job.framework.name, "assumed", job.framework.source});
  }
  return out;
}

}  // namespace sim
