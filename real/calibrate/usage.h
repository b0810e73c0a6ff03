// real/calibrate/usage.h -- which shapes training steps spend their time on.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "core/config/catalogue.h"
#include "core/plan/plan.h"
#include "real/calibrate/shape.h"

namespace real {

struct Used {
  Shape shape;
  double share = 0;  // of all steps looked at, about
};

/// Of the compute of a step's first role; shares add up to at most 1. Left out: what no point can time (groups,
/// windows, sides below 256, unfused attention). Memory-bound works become operators of the next power of two of rows.
std::vector<Used> usage_of(const plan::Plan&);

/// Of the catalogue's models, each trained on a node of 8 GPUs by 1, 2, 4 and 8 ranks of tensor parallelism as far as
/// its heads allow; equal shapes are one. Every model weighs the same.
std::vector<Used> usage_of_models(const config::Catalogue&, const std::vector<std::string>& models);

}  // namespace real
