// SPDX-License-Identifier: Apache-2.0
#include "real/executor/stash.h"

#include <stdexcept>

namespace real {

void Stash::went_backward(ParameterTable& parameters) {
  if (read_.empty()) throw std::logic_error("a microbatch goes backward that has not gone forward");
  read_.pop_front();
  ++backwards_;
  const std::int64_t oldest = read_.empty() ? version_ : read_.front();
  for (Parameter& p : parameters.all()) p.stashed.erase(p.stashed.begin(), p.stashed.lower_bound(oldest));
}

Value& Stash::of_backward(Parameter& p) const {
  if (read_.empty()) throw std::logic_error("a microbatch goes backward that has not gone forward");
  const auto kept = p.stashed.find(read_.front());
  return kept == p.stashed.end() ? p.weight : kept->second;
}

}  // namespace real
