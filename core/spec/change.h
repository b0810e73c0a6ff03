// core/spec/change.h -- a job with some of its inputs (inputs.h) changed on purpose: "what if the NICs were twice as
// fast". SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/base/fault.h"
#include "core/spec/inputs.h"

namespace spec {

struct Setting {
  std::string input;
  InputUnit unit = InputUnit::ratio;
  double before = 0, after = 0;  // SI
};

/// Of one name, which may stand for several inputs ("gpu.peak": of all dtypes).
struct Change {
  std::string written;  // "nic=2x"
  std::vector<Setting> settings;
};

/// What was asked for and cannot be: an unknown name, a unit that it does not have.
struct RefusedChange {
  std::string written;
  std::vector<base::Fault> faults;
};

/// In the order in which they were written.
struct Changes {
  std::vector<Change> sound;
  std::vector<RefusedChange> refused;
};

/// The inputs that a name stands for, the one that a value is meant for first, for each kind of node: its own name,
/// without "@node" too, or a short name of kShortNames. Empty: there is no such name.
std::vector<std::vector<Input>> inputs_named(const Job&, std::string_view name);

/// What inputs_named knows: short names first.
std::vector<std::string> input_names(const Job&);

/// The job with all of them made. Throws base::InputError where it is then no sound job.
Job changed(Job, const std::vector<Change>&);

}  // namespace spec
