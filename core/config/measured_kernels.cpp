// SPDX-License-Identifier: Apache-2.0
#include "core/config/measured_kernels.h"

#include <algorithm>

#include "core/base/fault.h"
#include "core/config/kernel_csv.h"
#include "core/config/kernel_jsonl.h"

namespace config {

int KernelTables::source(const std::string& name) {
  const auto at = std::find(sources.rbegin(), sources.rend(), name);  // rows of one source follow one another
  if (at != sources.rend()) return static_cast<int>(sources.rend() - at) - 1;
  sources.push_back(name);
  return static_cast<int>(sources.size()) - 1;
}

void read_kernels(const std::string& path, KernelTables& tables) {
  const std::string plain = path.ends_with(".gz") ? path.substr(0, path.size() - 3) : path;
  if (plain.ends_with(".csv")) return read_kernel_csv(path, tables);
  if (plain.ends_with(".jsonl")) return read_kernel_jsonl(path, tables);
  throw base::InputError({{"PATH",
                           "is no table that can be read",
                           "name files that end in .csv, .jsonl, .csv.gz or .jsonl.gz",
                           {path, 0, 0}}});
}

}  // namespace config
