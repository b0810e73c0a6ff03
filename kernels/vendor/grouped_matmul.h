// kernels/vendor/grouped_matmul.h -- the matmuls of experts by one kernel, cuBLAS's grouped matmul; what it does not
// take, one matmul an expert by cuBLASLt. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "kernels/grouped_matmul.h"
#include "kernels/vendor/matmul.h"

namespace kernels::vendor {

/// What cuBLAS is told of the matmuls that have something to multiply, column-major: C' = B' A', as in matmul.cpp.
struct Groups {
  std::vector<int> transpose_first, transpose_second;  // 0 or 1
  std::vector<int> m, n, k, ld_first, ld_second, ld_c;
  std::vector<float> alpha, beta;
  std::vector<const void*> addresses;  // of all first operands, of all second ones, of all results
  int count() const { return static_cast<int>(m.size()); }
};

/// `a`, `b`, `c` are device pointers to numbers of `types`.
Groups groups_of(const std::vector<ExpertMatmul>&, const MatmulTypes& types, const void* a, const void* b, void* c);

/// Types for which cuBLAS has no grouped matmul, in words; empty: it has one. Source: cuBLAS 12.5 and later,
/// cublasGemmGroupedBatchedEx: operands and results in one type, sums in fp32.
std::string refused_as_grouped(const MatmulTypes&);

/// cuBLAS on the current device. Runs that share a workspace belong on one stream.
class GroupedMatmulLibrary {
 public:
  static constexpr std::size_t kWorkspace = MatmulLibrary::kWorkspace;

  /// Throws DeviceError where there is no GPU.
  GroupedMatmulLibrary();
  ~GroupedMatmulLibrary();

  /// `addresses`: on the device, a copy of Groups::addresses. Why cuBLAS refuses these matmuls on this GPU, and nothing
  /// has been launched then; empty: they are under way. Throws DeviceError on any other failure. REQUIRES: types that
  /// refused_as_grouped() lets pass.
  std::string run(const Groups&, const MatmulTypes&, const void* addresses, void* workspace, Stream);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

/// Whether the current device is faster at one matmul an expert: from Hopper on, where each is long beside its launch.
/// cuBLAS's grouped kernels reach 240 to 310 TFLOP/s there (H200, cuBLAS 13.1, experts of 0.5 to 800 GFLOP, timed by
/// `forerun calibrate`), its single ones 700. What choosing an algorithm for a size that was not met before takes the
/// host, some 10 us, is not in those times.
bool faster_one_by_one(const std::vector<ExpertMatmul>&);
/// One matmul an expert.
void run_one_by_one(const std::vector<ExpertMatmul>&, const MatmulTypes&, const void* a, const void* b, void* c,
                    MatmulLibrary&, Stream);
/// Zeros for the results of those that have nothing to multiply.
void clear_empty(const std::vector<ExpertMatmul>&, const MatmulTypes&, void* c, Stream);

}  // namespace kernels::vendor
