// core/config/job_keys.h -- the keys of a Job's sections by their names alone, for who writes one on a command line.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace config {

/// "strategy.etp=2" of etp (or E-T-P, or strategy.etp) and a value that the key takes; with another value
/// "strategy.etp=true" where it takes that, else "strategy.etp=VALUE". Empty where neither strategy, training, network
/// nor simulation has such a key.
std::string job_setting(std::string_view name, const std::string& value);

}  // namespace config
