// SPDX-License-Identifier: Apache-2.0
#include "core/config/job_file.h"

#include <filesystem>

#include "core/base/fault.h"
#include "core/base/near_names.h"
#include "core/base/text.h"

namespace config {

Value load_job(const std::string& job, const Catalogue& catalogue) {
  if (job == "-") return load(path_given(job));
  std::error_code error;
  const bool is_path = job.find('/') != std::string::npos || job.ends_with(".yaml") || job.ends_with(".yml") ||
                       job.ends_with(".json") || std::filesystem::exists(job, error);
  if (is_path) return load(job);
  const auto kind = Catalogue::Kind::job;
  if (const std::string path = catalogue.path(kind, job); !path.empty()) return load(path);
  const std::string near = base::did_you_mean(job, catalogue.names(kind));
  throw base::InputError({{"JOB",
                           "there is no file and no catalogue job " + base::quoted(job),
                           (near.empty() ? "" : near + ' ') + "`forerun list jobs` shows all",
                           {}}});
}

}  // namespace config
