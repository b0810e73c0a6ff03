// SPDX-License-Identifier: Apache-2.0
#include "core/spec/inputs.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>
#include <set>
#include <type_traits>

#include "core/spec/mixed_cluster.h"

namespace spec {
namespace {

constexpr InputUnit unit_of(const base::Seconds&) { return InputUnit::seconds; }
constexpr InputUnit unit_of(const base::Bytes&) { return InputUnit::bytes; }
constexpr InputUnit unit_of(const base::ByteRate&) { return InputUnit::byte_rate; }
constexpr InputUnit unit_of(const base::FlopRate&) { return InputUnit::flop_rate; }
constexpr InputUnit unit_of(const base::Watts&) { return InputUnit::watts; }
constexpr InputUnit unit_of(double) { return InputUnit::ratio; }
constexpr InputUnit unit_of(int) { return InputUnit::count; }

template <class T>
double si_of(const T& field) {
  if constexpr (std::is_arithmetic_v<T>) {
    return static_cast<double>(field);
  } else {
    return field.si();
  }
}

/// That a figure can be.
struct Range {
  double least = 0, most = std::numeric_limits<double>::infinity();
};

/// What the figures of one part of a Job have in common.
struct Origin {
  std::string prefix;  // of their names
  std::string kind, source, cause;
  bool shapes_plan = false;
};

/// Meets every figure once, in a fixed order, and does to it what `Visit` does: notes it, or changes it.
template <class Visit>
class Walk {
 public:
  explicit Walk(Visit visit) : visit_(std::move(visit)) {}

  void job(Job& j) {
    if (!j.cluster.mixed()) node(j.cluster.node);
    std::set<std::string> known;
    for (NodeGroup& group : j.cluster.groups) {
      suffix_ = "@" + group.node.name;
      for (int n = 2; !known.insert(suffix_).second; ++n) suffix_ = "@" + group.node.name + "#" + std::to_string(n);
      node(group.node);
    }
    suffix_.clear();
    fabric(j.cluster.fabric);
    framework(j.framework);
    storage(j.training);
  }

 private:
  void node(Node& n) {
    gpu(n.gpu);
    const Origin sheet{"", "datasheet", "nodes/" + n.name, ""};
    Origin copies = sheet;
    copies.shapes_plan = true;
    copies.cause = "copies and files";
    figure(sheet, "nvlink.bandwidth", n.nvlink.bandwidth);
    figure(sheet, "nic.bandwidth", n.nic.bandwidth);
    figure(copies, "pcie.bandwidth", n.pcie.bandwidth);
    figure(copies, "pcie.copy", n.pcie.copy);
    figure(sheet, "host.memory", n.host.memory);
    figure(copies, "host.bandwidth", n.host.bandwidth);
    figure({sheet.prefix, sheet.kind, sheet.source, "host"}, "host.launch_slowdown", n.host.launch_slowdown);
    figure(copies, "nvme.read", n.nvme.read);
    figure(copies, "nvme.write", n.nvme.write);
    figure(sheet, "nvme.capacity", n.nvme.capacity);
    calibration(n.calibration);
    network(n.links, "links.");
  }

  void gpu(Gpu& g) {
    const Origin sheet{"gpu.", "datasheet", "gpus/" + g.name, ""};
    for (int d = 0; d < kDtypes; ++d) {
      if (g.peak[d].si() > 0) figure(sheet, "peak." + std::string(kNamesOf<Dtype>[d]), g.peak[d]);
    }
    figure(sheet, "sms", g.sms);
    figure(sheet, "memory", g.memory);
    figure(sheet, "hbm", g.hbm);
    figure(sheet, "l2", g.l2);
    figure(sheet, "power", g.power);
  }

  void recurrence(RecurrenceCurve& curve, const std::string& kind) {
    const Origin of = origin("recurrence." + kind + ".", curve.from, kind + " scan");
    figure(of, "forward", curve.forward);
    figure(of, "backward", curve.backward);
    figure(of, "chunk", curve.chunk);
    figure(of, "backward_chunk", curve.backward_chunk);
    figure(of, "overhead", curve.overhead);
  }

  void calibration(Calibration& c) {
    for (int d = 0; d < kDtypes; ++d) {
      if (c.matmul[d].ceiling > 0) matmul(c.matmul[d], std::string(kNamesOf<Dtype>[d]));
    }
    for (int k = 0; k < kAttentionKernels; ++k) {
      if (c.attention[k].forward > 0) attention(c.attention[k], std::string(kNamesOf<AttentionKernel>[k]));
    }
    for (int k = 0; k < kMemoryKinds; ++k) {
      const std::string name(kMemoryKindNames[k]);
      MemoryCurve& curve = c.memory[k];
      if (!(curve.efficiency > 0)) continue;
      const Origin of = origin("memory." + name + ".", curve.from, name + " kernels");
      share(of, "efficiency", curve.efficiency);
      figure(of, "overhead", curve.overhead);
    }
    for (std::size_t k = 0; k < c.recurrence.size(); ++k) {
      if (c.recurrence[k].forward > 0) recurrence(c.recurrence[k], std::string(kNamesOf<Recurrent::Kind>[k]));
    }
    const Origin power{"power.", "assumed", c.power.source, ""};
    share(power, "sustained", c.power.sustained);
    figure(power, "exponent", c.power.exponent);
    figure(power, "spread", c.power.spread);
    figure(power, "jitter", c.power.jitter);
    figure(power, "limit", c.power.power);
    const Origin rest{"", "assumed", "calibrations/" + c.name, "kernels beside communication"};
    figure({"", "assumed", rest.source, ""}, "accumulation", c.accumulation);
    figure(rest, "compute_slowdown", c.compute_slowdown, 1);
    figure(rest, "comm_slowdown", c.comm_slowdown, 1);
  }

  void matmul(MatmulCurve& c, const std::string& dtype) {
    const std::string prefix = "matmul." + dtype + '.';
    const Origin of = origin(prefix, c.from, "matmul " + dtype);
    share(of, "ceiling", c.ceiling);
    count(of, "tile_m", c.tile_m);
    count(of, "tile_n", c.tile_n);
    share(of, "half_tile", c.half_tile);
    share(of, "quarter_tile", c.quarter_tile);
    figure(of, "k_half", c.k_half);
    share(of, "wave_share", c.wave_share);
    figure(of, "memory", c.memory);
    figure(of, "overhead", c.overhead);
    const auto groups = [&](const char* key, const char* what, GroupedPace& part) {
      if (!part.known()) return;
      const Origin grouped = origin(prefix + key, part.from, what + dtype);
      figure(grouped, "pace", part.pace);
      figure(grouped, "each", part.each);
    };
    groups("grouped_mm.", "torch._grouped_mm ", c.grouped_mm);
    groups("grouped.", "grouped matmul ", c.grouped);
    if (c.unaligned.known()) {
      const Origin unaligned = origin(prefix + "unaligned.", c.unaligned.from, "unaligned matmul " + dtype);
      share(unaligned, "rows_of_8", c.unaligned.rows_of_8);
      share(unaligned, "rows_of_2", c.unaligned.rows_of_2);
    }
    if (c.passes.known()) {
      const Origin passes = origin(prefix + "passes.", c.passes.from, "passes of matmul " + dtype);
      figure(passes, "input_gradient", c.passes.input_gradient);
      figure(passes, "weight_gradient", c.passes.weight_gradient);
    }
    if (c.gradients.known()) {
      figure(origin(prefix + "gradients.", c.gradients.from, "matmul " + dtype), "pace", c.gradients.pace);
    }
  }

  void attention(AttentionCurve& c, const std::string& kernel) {
    const Origin of = origin("attention." + kernel + '.', c.from, "attention " + kernel);
    Origin backward = of;
    if (!c.backward_measured) backward.kind = "assumed";
    share(of, "forward", c.forward);
    share(backward, "backward", c.backward);
    figure(of, "ramp", c.ramp);
    if (c.backward_ramp > 0) figure(backward, "backward_ramp", c.backward_ramp);
    figure(of, "diagonal", c.diagonal);
    figure(of, "causal", c.causal);
    figure(of, "head_dim_64", c.head_dim_64);
    figure(of, "head_dim_256", c.head_dim_256);
    if (c.unequal_heads > 0) figure(of, "unequal_heads", c.unequal_heads);
    figure(of, "low_precision", c.low_precision);
    if (c.backward_low_precision > 0) figure(backward, "backward_low_precision", c.backward_low_precision);
    figure(of, "dropout", c.dropout, 1);
    if (c.index > 0) figure(of, "index", c.index);
    figure(of, "overhead", c.overhead);
  }

  void network(NetworkCalibration& path, const std::string& prefix) {
    for (const CurveName& name : kCurveNames) {
      PathCurve& c = path.*name.curve;
      if (!c.offered()) continue;
      Origin of{prefix + name.key + '.', c.measured ? "measured" : "assumed", c.source, ""};
      of.cause = std::string(name.collective) + " over " + (path.name.empty() ? "unnamed links" : path.name);
      share(of, "efficiency", c.efficiency);
      figure(of, "latency", c.latency);
      figure(of, "hop", c.hop);
      Origin beyond = of;
      beyond.kind = "assumed";
      if (c.long_hop.si() > 0) figure(beyond, "long_hop", c.long_hop);
      figure(of, "ramp", c.ramp);
      figure(of, "local", c.local);
      figure(of, "decay", c.decay);
      low_latency(of, "low_latency.", c.low_latency);
      low_latency(of, "ll128.", c.ll128);
    }
    if (path.experts_call.si() > 0) {
      figure({prefix, "assumed", path.experts_call_source, "calls of experts' exchanges"}, "experts_call",
             path.experts_call);
    }
  }

  void low_latency(Origin of, const std::string& key, LowLatency& c) {
    if (!(c.efficiency > 0)) return;
    of.prefix += key;
    share(of, "efficiency", c.efficiency);
    figure(of, "latency", c.latency);
    figure(of, "hop", c.hop);
  }

  void fabric(Fabric& f) {
    const Origin of{"fabric.", "datasheet", "fabrics/" + f.name, ""};
    figure(of, "oversubscription", f.oversubscription, 1);
    for (std::size_t t = 0; t < f.upper_tiers.size(); ++t) {
      figure(of, "upper_tiers." + std::to_string(t + 1), f.upper_tiers[t].oversubscription, 1);
    }
    figure(of, "link", f.link);
    figure(of, "hop_latency", f.hop_latency);
    network(f.calibration, "fabric.");
  }

  void framework(Framework& f) {
    const Origin of{"framework.", "assumed", "frameworks/" + f.name, "host"};
    figure(of, "launch", f.launch);
    figure(of, "backward_launch", f.backward_launch);
    figure(of, "compiled_launch", f.compiled_launch);
    figure(of, "plain_launch", f.plain_launch);
    figure(of, "module_launch", f.module_launch);
    figure(of, "module_fetch", f.module_fetch);
    figure(of, "expert_launch", f.expert_launch);
    figure(of, "collective_launch", f.collective_launch);
    figure(of, "pipelined_tp_launch", f.pipelined_tp_launch);
    figure(of, "step", f.step);
    figure(of, "host_slowdown", f.host_slowdown, 1);
    figure({of.prefix, of.kind, of.source, "copies and files", true}, "cpu_optimizer", f.cpu_optimizer);
    figure({of.prefix, of.kind, of.source, "norm kernels", true}, "norm_backward", f.norm_backward);
    figure({of.prefix, of.kind, of.source, "norm kernels", true}, "general_norm", f.general_norm);
    figure({of.prefix, of.kind, of.source, "norm kernels", true}, "general_norm_backward", f.general_norm_backward);
    figure({of.prefix, of.kind, of.source, "norm kernels", true}, "general_norm_sums", f.general_norm_sums);
  }

  void storage(Training& t) {
    const Origin of{"", "stated", "the Job's training", "copies and files", true};
    if (t.data) figure(of, "data.bandwidth", t.data->bandwidth);
    if (t.checkpoint && t.checkpoint->bandwidth) figure(of, "checkpoint.bandwidth", *t.checkpoint->bandwidth);
  }

  static Origin origin(const std::string& prefix, const Provenance& from, const std::string& cause) {
    return {prefix, from.measured ? "measured" : "assumed", from.source, cause};
  }

  template <class T>
  void figure(const Origin& of, const std::string& key, T& field, double least = 0) {
    visit_(of.prefix + key + suffix_, of, unit_of(field), field, Range{.least = least});
  }
  /// Of a whole, which a file may all the same have put higher.
  void share(const Origin& of, const std::string& key, double& field) {
    visit_(of.prefix + key + suffix_, of, InputUnit::ratio, field, Range{.most = std::max(1.0, field)});
  }
  void count(const Origin& of, const std::string& key, double& field) {
    visit_(of.prefix + key + suffix_, of, InputUnit::count, field, Range{});
  }

  Visit visit_;
  std::string suffix_;  // "@dgx-h100" in a mixed cluster
};

}  // namespace

int power_of_time(InputUnit unit) {
  switch (unit) {
    case InputUnit::seconds: return 1;
    case InputUnit::byte_rate:
    case InputUnit::flop_rate:
    case InputUnit::watts: return -1;
    case InputUnit::bytes:
    case InputUnit::ratio:
    case InputUnit::count: break;
  }
  return 0;
}

std::string_view symbol(InputUnit unit) {
  switch (unit) {
    case InputUnit::seconds: return "s";
    case InputUnit::bytes: return "B";
    case InputUnit::byte_rate: return "B/s";
    case InputUnit::flop_rate: return "FLOP/s";
    case InputUnit::watts: return "W";
    case InputUnit::ratio:
    case InputUnit::count: break;
  }
  return "";
}

std::vector<Input> inputs(const Job& job) {
  std::vector<Input> out;
  Job copy = job;
  Walk walk([&](const std::string& name, const Origin& of, InputUnit unit, const auto& field, Range range) {
    out.push_back({name, unit, si_of(field), range.least, range.most, of.shapes_plan, of.kind, of.source, of.cause});
  });
  walk.job(copy);
  return out;
}

void set_input(Job& job, std::string_view wanted, double value) {
  const int least = job.cluster.mixed() ? least_able(job.cluster) : 0;
  [[maybe_unused]] bool found = false;
  Walk walk([&](const std::string& name, const Origin&, InputUnit unit, auto& field, Range) {
    if (name != wanted) return;
    found = true;
    using T = std::decay_t<decltype(field)>;
    field = static_cast<T>(unit == InputUnit::count ? std::round(value) : value);
  });
  walk.job(job);
  assert(found && "no such input");
  if (job.cluster.mixed()) job.cluster.node = job.cluster.groups[static_cast<std::size_t>(least)].node;
}

}  // namespace spec
