// core/spec/uncertainty.h -- what a predicted step may be off by beyond the spread of its kernels' and links' curves:
// the constants behind the 80 % interval, calibrated on published steps (topologies/uncertainty.yaml).
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <string>
#include <string_view>

namespace spec {

/// Standard deviations of log(measured / predicted) where the measured step is the faster one, and the slower one.
/// Most of what a model leaves out costs time, so the two differ.
struct Sides {
  double faster = 0, slower = 0;
};

/// Parts of a Job of which few steps, or none, were published.
enum class Scarce { experts, context_parallel, zero3, offload, adapters, layer_list, mixed_cluster, serving, indexer };
inline constexpr int kScarce = 9;
inline constexpr std::array<std::string_view, kScarce> kScarceNames{
    "experts", "context_parallel", "zero3", "offload", "adapters", "layer_list", "mixed_cluster", "serving", "indexer"};

struct Uncertainty {
  Sides stack;        // of a software stack: all its operators are off by it together
  Sides unmodelled;   // of one step: what no operator stands for
  double repeat = 0;  // between two runs of one step
  // Of the time that they stand for.
  double host = 0;               // issue rate of the host, where the GPU waits for it
  double interference = 0;       // what kernels lose beside communication
  double copies = 0;             // rates that the job or a data sheet states: PCIe, drives, an optimizer on the host
  double assumed_attention = 0;  // an attention kernel that the job leaves open
  double assumed_norm = 0;       // norms by the operation where it does not say so, which one kernel would do sooner
  double assumed_option = 0;     // each other assumption, of the whole step
  double outside_fit = 1;        // times a curve's residual, for shapes beyond those that it was fitted to
  std::array<Sides, kScarce> scarce{};  // of the whole step
  std::string source;
};

}  // namespace spec
