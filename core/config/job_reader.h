// core/config/job_reader.h -- a Job file, flags and --set become a resolved, checked spec::Job.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/config/catalogue.h"
#include "core/config/document.h"
#include "core/spec/job.h"

namespace config {

/// A spec::Job from a Job tree (job schema of docs/job.md): read, checked and resolved. Throws base::InputError with
/// every fault of the tree and of the catalogue files it names; check()'s faults carry the place of the field they are
/// about.
spec::Job read_job(const Value& tree, const Catalogue&);

/// The same neither checked nor resolved, for who has yet to choose a part of it.
spec::Job read_unchecked_job(const Value& tree, const Catalogue&);

/// Where a field was written: the place of the longest part of its path that a file has; none where flags say another
/// field of that part.
base::Where place_of(const Value& tree, std::string_view field);

}  // namespace config
