// real/worker/versions.cpp -- forerun-worker --versions: each library's version as it was compiled against and as it
// was found. SPDX-License-Identifier: Apache-2.0
#include <cublasLt.h>
#include <cublas_v2.h>
#include <cuda_runtime.h>
#include <cudnn.h>
#include <cupti.h>
#include <fmt/format.h>
#include <nccl.h>

#include "core/base/fault.h"
#include "real/worker/command.h"
#include "real/worker/library_versions.h"

namespace worker {
namespace {

struct Version {
  const char* library;
  long header, found;
  bool fits;  // within what the library promises
};

/// 13.0 or 0.0 when there is none; CUDA's way of counting.
std::string cuda(int version) { return fmt::format("{}.{}", version / 1000, version % 1000 / 10); }

/// As cublasLtGetVersion() counts; cublasGetVersion_v2() would want a handle, and with it a device.
long cublas_version() {
  int major = 0, minor = 0, patch = 0;
  cublasGetProperty(MAJOR_VERSION, &major);
  cublasGetProperty(MINOR_VERSION, &minor);
  cublasGetProperty(PATCH_LEVEL, &patch);
  return major * 10000L + minor * 100L + patch;
}

std::vector<Version> all() {
  int runtime = 0, nccl = 0;
  std::uint32_t cupti = 0;
  cudaRuntimeGetVersion(&runtime);
  ncclGetVersion(&nccl);
  cuptiGetVersion(&cupti);
  const long blas = cublas_version(), lt = static_cast<long>(cublasLtGetVersion());
  const long dnn = static_cast<long>(cudnnGetVersion());
  // Same major version and not older than the header: CUDA's libraries add, within one, and take nothing away. NCCL's
  // and CUPTI's structures grow with each version, and are read here, so a newer one is told apart in the collector.
  const auto adds = [](long header, long found, long major) {
    return found >= header && found / major == header / major;
  };
  constexpr long kBlasHeader = CUBLAS_VER_MAJOR * 10000 + CUBLAS_VER_MINOR * 100 + CUBLAS_VER_PATCH;
  return {{"cudart", CUDART_VERSION, runtime, runtime == CUDART_VERSION},  // linked in
          {"nccl", NCCL_VERSION_CODE, nccl, adds(NCCL_VERSION_CODE, nccl, 10000)},
          {"cupti", CUPTI_API_VERSION, static_cast<long>(cupti), adds(CUPTI_API_VERSION, cupti, 10000)},
          {"cudnn", CUDNN_VERSION, dnn, adds(CUDNN_VERSION, dnn, 10000)},
          {"cublas", kBlasHeader, blas, adds(kBlasHeader, blas, 10000)},
          {"cublasLt", kBlasHeader, lt, adds(kBlasHeader, lt, 10000)}};  // both are of one header
}

std::string run(real::World&, const std::vector<std::string>&) {
  int driver = 0;
  cudaDriverGetVersion(&driver);
  std::string out = fmt::format("{:<10}{:>10}{:>10}\n", "library", "header", "found");
  std::string wrong;
  for (const Version& v : all()) {
    out += fmt::format("{:<10}{:>10}{:>10}\n", v.library, v.header, v.found);
    if (!v.fits)
      wrong +=
          fmt::format("{}{} {} was found where {} is needed", wrong.empty() ? "" : "; ", v.library, v.found, v.header);
  }
  out += driver ? fmt::format("the driver knows CUDA up to {}\n", cuda(driver)) : "no driver is loaded\n";
  if (!wrong.empty())
    throw base::DeviceError(wrong + "; the libraries of another install come first in LD_LIBRARY_PATH");
  return out;
}

}  // namespace

std::string library_versions() {
  int runtime = 0, nccl = 0;
  cudaRuntimeGetVersion(&runtime);
  ncclGetVersion(&nccl);
  return fmt::format("CUDA {}, cuBLASLt {}, cuDNN {}, NCCL {}", cuda(runtime), cublasLtGetVersion(), cudnnGetVersion(),
                     nccl);
}

const Command versions{"--versions", "header against library of everything that is linked", run};

}  // namespace worker
