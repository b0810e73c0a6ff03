// kernels/vendor/lt.h -- cuBLASLt's handles as values, its failures as DeviceError. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cublasLt.h>

#include <cstdint>
#include <initializer_list>
#include <string>

#include "kernels/vendor/matmul.h"

namespace kernels::vendor {

inline void check(cublasStatus_t status, const char* call) {
  if (status != CUBLAS_STATUS_SUCCESS) throw DeviceError(std::string(call) + ": " + cublasLtGetStatusString(status));
}

inline cudaDataType_t data_type(Number number) {
  switch (number) {
    case Number::bf16: return CUDA_R_16BF;
    case Number::f32: return CUDA_R_32F;
    case Number::e4m3: return CUDA_R_8F_E4M3;
    case Number::e5m2: return CUDA_R_8F_E5M2;
  }
  return CUDA_R_16BF;
}

inline constexpr std::uint32_t kMostAligned = 16;  // bytes, of which algorithms know nothing beyond

/// The largest power of two, of those at most, at a multiple of which all begin.
inline std::uint32_t alignment_of(std::initializer_list<const void*> operands) {
  std::uintptr_t bits = kMostAligned;
  for (const void* at : operands) bits |= reinterpret_cast<std::uintptr_t>(at);
  return static_cast<std::uint32_t>(bits & -bits);
}

template <class T, cublasStatus_t (*destroy)(T)>
struct Owned {
  T handle = nullptr;
  Owned() = default;
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;
  ~Owned() {
    if (handle) destroy(handle);
  }
};
using Description = Owned<cublasLtMatmulDesc_t, cublasLtMatmulDescDestroy>;
using Layout = Owned<cublasLtMatrixLayout_t, cublasLtMatrixLayoutDestroy>;
using Preference = Owned<cublasLtMatmulPreference_t, cublasLtMatmulPreferenceDestroy>;

template <class Value>
void set(Description& description, cublasLtMatmulDescAttributes_t attribute, const Value& value) {
  check(cublasLtMatmulDescSetAttribute(description.handle, attribute, &value, sizeof value),
        "cublasLtMatmulDescSetAttribute");
}

template <class Value>
void set(Preference& preference, cublasLtMatmulPreferenceAttributes_t attribute, const Value& value) {
  check(cublasLtMatmulPreferenceSetAttribute(preference.handle, attribute, &value, sizeof value),
        "cublasLtMatmulPreferenceSetAttribute");
}

}  // namespace kernels::vendor
