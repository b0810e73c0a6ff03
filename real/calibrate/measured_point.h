// real/calibrate/measured_point.h -- a point that was timed, and the machine it was timed on.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "core/base/units.h"
#include "real/calibrate/shape.h"
#include "real/measure/measurement.h"

namespace real {

/// What points are worth nothing without.
struct Machine {
  std::string gpu = {};      // "NVIDIA H200"
  int major = 0, minor = 0;  // compute capability
  int sms = 0, gpus = 1;     // gpus: of each node, that took part
  int nodes = 1;
  base::Bytes memory = {};       // of one
  base::Watts power_limit = {};  // of its board; 0: not told
  std::string driver = {};       // "580.65.06"
  std::string libraries = {};    // "CUDA 13.0, cuBLASLt 13.1.0, ..."
  std::string date = {};         // "2026-11-22", when the first point was timed
};

/// What makes points of two runs incomparable, in words; empty: nothing.
std::string difference(const Machine& before, const Machine& now);

struct MeasuredPoint {
  Shape shape;
  base::Seconds median = {}, low = {}, high = {};  // low, high: 80 % of the repetitions lie between them
  int samples = 0;
  Condition condition = {};
  std::string void_because = {};  // not empty: there is no time, and why
};

/// Void where repetitions are too few, are no times, or disagree by more than kDisagreement.
MeasuredPoint summarised(const Shape&, std::vector<base::Seconds> samples, const Condition&);

inline constexpr int kFewestSamples = 3;
inline constexpr double kDisagreement = 2;  // high over low

}  // namespace real
