// core/config/job_file.h -- a Job by what a user calls it: a file, or a name of workloads/jobs.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "core/config/catalogue.h"
#include "core/config/document.h"

namespace config {

/// The Job's tree. A path is what holds a slash, ends in .yaml, .yml or .json, or exists. Throws base::InputError: no
/// such file and no such catalogue job, with the nearest name.
Value load_job(const std::string& job, const Catalogue&);

}  // namespace config
