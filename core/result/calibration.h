// core/result/calibration.h -- the answer of `forerun calibrate --from-data`: how far prices are from measured kernels,
// before and after the fit. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <vector>

namespace result {

/// Of e = log(predicted / measured) over rows.
struct LogErrors {
  double median_abs = 0, median = 0, p90_abs = 0;
  double spread = 0;  // root mean square
};

/// One curve of one GPU against the rows of one source.
struct CurveFit {
  enum class Verdict { replaced, kept, not_fitted };
  std::string calibration, family, source;  // "h100-sxm", "matmul bf16", "ai-dynamo/aiconfigurator"
  int rows = 0;
  LogErrors before, after;
  Verdict verdict = Verdict::not_fitted;  // kept: the curve that stood there meets the rows better
  double host_s = 0;                      // found inside each pass of the rows and taken out of them
};

/// Points of a residual plot.
struct ResidualTable {
  std::string name;  // "matmul"
  std::vector<std::string> columns;
  std::vector<std::vector<std::string>> rows;
};

struct KernelCalibration {
  std::vector<CurveFit> curves;
  std::vector<std::string> followed;    // "h800 matmul bf16: as h100-sxm matmul bf16"
  std::map<std::string, int> left_out;  // why, and how many rows
  std::vector<ResidualTable> residuals;
};

}  // namespace result
