// core/result/calibration.h -- the answer of `forerun calibrate --from-data`: how far prices are from measured kernels
// and collectives, before and after the fit. SPDX-License-Identifier: Apache-2.0
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

/// One curve of one GPU against the rows of one source; of links or a fabric against those of all.
struct CurveFit {
  enum class Verdict { replaced, kept, not_fitted, too_few };
  std::string calibration, family, source;  // "h100-sxm", "matmul bf16", "ai-dynamo/aiconfigurator"
  int rows = 0;
  LogErrors before, after;
  Verdict verdict = Verdict::not_fitted;    // kept: the curve that stood there, which meets them better or they none
  std::vector<std::string> kept_constants;  // of the curve, that these rows do not tell
  double host_s = 0;                        // found inside each pass of the rows and taken out of them
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
  std::vector<std::string> assumed;     // what no row is of, and where it is taken from
  std::map<std::string, int> left_out;  // why, and how many rows
  std::vector<ResidualTable> residuals;
};

}  // namespace result
