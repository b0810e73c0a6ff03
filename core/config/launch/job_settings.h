// core/config/launch/job_settings.h -- a Job by the keys of its file: what exporters read, and what "the same Job"
// means. SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/config/launch/settings.h"
#include "core/spec/job.h"

namespace config::launch {

/// model, training and strategy, every key that has an effect: no schedule without stages, no experts' keys without
/// experts. Two jobs whose settings are equal, but for model.name, are predicted alike on the same cluster. A job that
/// is not resolved lacks the keys that resolve() fills in.
Settings job_settings(const spec::Job&);

}  // namespace config::launch
