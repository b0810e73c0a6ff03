// SPDX-License-Identifier: Apache-2.0
#include "real/gpu/marks.h"

#include <nvtx3/nvToolsExt.h>

namespace real {

void Marks::start_owning() {
  owning_ = true;
  outside_.emplace(kOutsideOperators);
}

void Marks::stop_owning() {
  owning_ = false;
  outside_.reset();
}

std::vector<Launched> Marks::launched() const {
  std::vector<Launched> out;
  for (std::size_t i = 0; i < instances_.size(); ++i) {
    if (launched_[i]) out.push_back(instances_[i]);
  }
  return out;
}

void Marks::begun(std::uint64_t operator_number) {
  const Launched& one = instances_.at(operator_number - 1);
  nvtxRangePushA(names_[static_cast<std::size_t>(one.what.name)].c_str());
  if (owning_) inside_.emplace(one.instance);
}

void Marks::ended(std::uint64_t operator_number, bool launched) {
  launched_.at(operator_number - 1) = launched;
  inside_.reset();
  nvtxRangePop();
}

}  // namespace real
