// kernels/gradient_norm.h -- the norm of all gradients and the factor that clips it, without the host waiting for it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels/types.h"

namespace kernels {

namespace reference {

double squared_norm(Input values);
/// min(1, max_norm / sqrt(squared_norm)); 1 for a norm of 0.
double clip_factor(double squared_norm, double max_norm);
void scale_by(double factor, Output values);

}  // namespace reference

namespace gpu {

/// Adds the squared norm to *total, in double, on the device; ranks that hold a shard each all-reduce it by sum.
void squared_norm(std::int64_t count, const float* values, double* total, Stream);
/// *total += *part, of sums over some of the gradients.
void add_total(const double* part, double* total, Stream);
/// *factor as in the reference; *norm receives the norm itself and may be null. All on the device.
void clip_factor(const double* squared_norm, double max_norm, float* factor, float* norm, Stream);
/// The factor lies on the device.
void scale_by(const float* factor, std::int64_t count, float* values, Stream);

}  // namespace gpu
}  // namespace kernels
