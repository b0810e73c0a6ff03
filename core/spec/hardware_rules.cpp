// core/spec/hardware_rules.cpp -- what GPUs, links and network cards must be able to do (declared in rules.h).
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "core/spec/rules.h"

namespace spec {
namespace {

class Hardware : Rules {
 public:
  using Rules::Rules;
  std::vector<base::Fault> run() {
    hardware();
    algorithm();
    fabric_holds_all();
    return std::move(faults_);
  }

 private:
  /// Only what the cluster never offers: a collective that lacks the algorithm falls back (docs/network.md).
  void algorithm() {
    const Algorithm a = job_.network.algorithm;
    if ((a == Algorithm::nvls || a == Algorithm::nvls_tree) && !cluster_.node.nvlink.multicast) {
      fault("network.algorithm", std::string(name(a)) + " needs NVLink switches that add up (nvlink.multicast)",
            "write algorithm: auto, or name a node of Hopper or later with NVSwitch");
    }
    if (a == Algorithm::collnet && !cluster_.fabric.in_switch_reduction) {
      fault("network.algorithm", "collnet needs a fabric whose switches add up",
            "write algorithm: auto, or fabric: {base: ..., in_switch_reduction: true}");
    }
  }

  void fabric_holds_all() {
    const Fabric& fabric = cluster_.fabric;
    if (const std::int64_t places = most_nodes(cluster_); cluster_.nodes > places) {
      fault("cluster.fabric", "has places for " + text(places) + " nodes, and the cluster has " + text(cluster_.nodes),
            fabric.kind == Fabric::Kind::torus ? "write a larger cluster.fabric.shape"
                                               : "write more cluster.fabric.groups");
    }
  }

  void hardware() {
    const Node& node = cluster_.node;
    if (!(node.gpu.memory.si() > 0))
      fault("cluster.node.gpu.memory", "is zero", "write the GPU's memory, such as 80GB");
    if (!(node.gpu.hbm.si() > 0)) fault("cluster.node.gpu.hbm", "is zero", "write its bandwidth, such as 3.35TB/s");
    if (!node.gpu.computes(t_.precision)) {
      std::string known;
      for (int d = 0; d < kDtypes; ++d) {
        if (node.gpu.computes(static_cast<Dtype>(d)))
          known += (known.empty() ? "" : ", ") + std::string(kNamesOf<Dtype>[d]);
      }
      fault("training.precision", node.gpu.name + " does not compute in " + std::string(name(t_.precision)),
            known.empty() ? "state the GPU's peak in this precision" : "choose one of " + known);
    }
    if (node.nvlink.via != Switch::none && !(node.nvlink.bandwidth.si() > 0)) {
      fault("cluster.node.nvlink.bandwidth", "is zero", "write its bandwidth, such as 450GB/s, or switch: none");
    }
    const bool linked = node.nvlinked() >= std::min(node.gpus, cluster_.gpus());
    if (node.gpus > 1 && !linked && !(node.pcie.bandwidth.si() > 0)) {
      fault("cluster.node.pcie.bandwidth", "is zero, and the GPUs of a node are not all joined by NVLink",
            "write its bandwidth, such as 63GB/s");
    }
    if (cluster_.apart()) {
      fault("cluster.node.nic", "nodes without network cards cannot be joined",
            "write nic: {bandwidth: 400Gb/s, count: " + text(node.gpus) + ", kind: infiniband}, or cluster.nodes: 1");
    }
  }
};

}  // namespace

std::vector<base::Fault> hardware_faults(const Job& job) { return Hardware(job).run(); }

}  // namespace spec
