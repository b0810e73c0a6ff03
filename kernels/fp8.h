// kernels/fp8.h -- the two 8-bit floating point formats, on the CPU, and what scales beside them are for.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "kernels/host_device.h"

namespace kernels {

/// e4m3: 4 bits of exponent, 3 of mantissa, largest 448, no infinity. e5m2: 5 and 2, largest 57344.
/// Source: Micikevicius et al., "FP8 Formats for Deep Learning", 2022.
enum class Fp8 { e4m3, e5m2 };

KERNELS_HOST_DEVICE constexpr double largest(Fp8 format) { return format == Fp8::e4m3 ? 448 : 57344; }

/// Which numbers of a matrix [rows, columns] share a scale: all; those of a row; 128 neighbours of a row; squares of
/// 128 x 128; 32 neighbours of a row (MXFP8).
enum class Scales { tensor, rows, lines, squares, mx };

/// The least power of two, from 2^-127 on, that takes `magnitude` to at most e4m3's largest; 1 for 0.
double power_scale(double magnitude);

/// Nearest code, to even where two are as near; beyond the largest finite value the largest. NaN stays NaN.
std::uint8_t to_fp8(Fp8, double value);
double from_fp8(Fp8, std::uint8_t code);

}  // namespace kernels
