// cli/search_together.h -- one search by all processes of a launch (mpirun, srun, torchrun), or by this one alone.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>

#include "core/config/search_reader.h"
#include "sim/search/search.h"

namespace cli {

/// Nothing: another process tells the answer. Throws base::DeviceError when a process is missing or was lost,
/// base::InputError what sim::search() does.
std::optional<result::Search> search_together(const config::OpenJob&, sim::SearchOptions);

}  // namespace cli
