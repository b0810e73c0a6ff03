// core/spec/dtype.h -- number formats and how many bytes an element of each takes.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/spec/names.h"

namespace spec {

enum class Dtype { fp32, tf32, fp16, bf16, fp8, mxfp8, nvfp4 };
template <>
inline constexpr auto kNamesOf<Dtype> = spelt("fp32", "tf32", "fp16", "bf16", "fp8", "mxfp8", "nvfp4");
inline constexpr int kDtypes = kNamesOf<Dtype>.size();

/// Bytes an element takes in memory. tf32 is a way to multiply fp32 numbers; the block formats' scales are left out.
constexpr double bytes_of(Dtype d) {
  switch (d) {
    case Dtype::fp32:
    case Dtype::tf32: return 4;
    case Dtype::fp16:
    case Dtype::bf16: return 2;
    case Dtype::fp8:
    case Dtype::mxfp8: return 1;
    case Dtype::nvfp4: return 0.5;
  }
  return 0;
}

/// The format that activations and weights travel in: fp8 and fp4 training keep bf16 between matmuls.
constexpr Dtype storage(Dtype d) { return d == Dtype::tf32 ? Dtype::fp32 : bytes_of(d) < 2 ? Dtype::bf16 : d; }

}  // namespace spec
