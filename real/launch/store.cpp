// SPDX-License-Identifier: Apache-2.0
#include "real/launch/store.h"

#include <fmt/format.h>

namespace real {

std::vector<std::string> Store::gather(const std::string& name, const std::string& mine, base::Seconds patience) {
  const auto key = [&](int of) { return fmt::format("{}/{}", name, of); };
  set(key(rank()), mine);
  std::vector<std::string> all;
  for (int of = 0; of < world(); ++of) all.push_back(of == rank() ? mine : get(key(of), patience));
  return all;
}

}  // namespace real
