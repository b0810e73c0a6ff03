// core/result/collectives.h -- the answers of `forerun show collective` and `forerun validate --collectives`: prices of
// collectives by size, and such prices beside what was measured. Seconds, bytes and bytes/s; names are the JSON keys.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace result {

struct CollectiveRow {
  std::int64_t bytes = 0;  // as nccl-tests counts them
  double time_s = 0;
  double low_s = 0, high_s = 0;     // 80 % interval from the curve's spread
  double algbw = 0, busbw = 0;      // bytes/s, as nccl-tests defines them
  std::string algorithm, protocol;  // chosen
  std::string curve;                // "nvlink4.nvls"
  std::string source;               // what that curve was fitted to
  bool measured = false;            // the curve was fitted to this kind of path
  bool extrapolated = false;        // the size lies outside of those
};

struct CollectiveTable {
  std::string op, node, fabric;  // fabric empty: none is crossed
  int nodes = 1, gpus = 0;       // gpus of each node take part
  int ranks = 0, domains = 1;
  std::string asked = "auto";  // algorithm
  std::vector<CollectiveRow> rows;
  std::vector<std::string> warnings;
};

struct CollectiveCase {
  std::int64_t bytes = 0;
  double measured_s = 0, predicted_s = 0;
  double error = 0;  // of bus bandwidth: predicted / measured - 1
  std::string algorithm, protocol;
};

/// Sizes of one collective on one cluster, as measured together.
struct CollectiveSweep {
  std::string file, op, node, fabric, asked = "auto";
  int nodes = 1, gpus = 0;
  std::vector<CollectiveCase> cases;
};

/// Median errors of bus bandwidth; rows 0: nothing of this kind.
struct CollectiveFigures {
  int rows = 0;
  double median_abs_error = 0, median_signed_error = 0;
};

struct CollectiveGroup {
  std::string node, op;
  int nodes = 1;
  CollectiveFigures small, large;  // below 1 MiB; from it on
};

struct CollectiveValidation {
  std::vector<CollectiveSweep> sweeps;
  std::vector<CollectiveGroup> groups;  // by node, nodes and op
  CollectiveFigures small, large;       // of all rows
};

}  // namespace result
