// core/base/fault.h -- a mistake in the input, told so that its author can mend it without reading our code.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <stdexcept>
#include <string>
#include <vector>

namespace base {

struct Where {
  std::string file;  // empty: the command line
  int line = 0, column = 0;
};

struct Fault {
  std::string field;  // path as the user wrote it: "nvlink.bandwidth"
  std::string what;   // "'900' has no unit"
  std::string mend;   // "write 900GB/s (bytes) or 900Gb/s (bits)"
  Where where = {};   // filled in by config/
};

/// topologies/dgx.yaml:14:16: error: nvlink.bandwidth: '900' has no unit
///   mend: write 900GB/s (bytes) or 900Gb/s (bits)
std::string to_string(const Fault&);

/// The user's input is wrong. Thrown by config/ (by cli/ for flags, by sim/ for what only its prices show), caught in
/// main: exit code 2.
struct InputError : std::runtime_error {
  explicit InputError(std::vector<Fault> all);  // what(): every fault, in file order
  std::vector<Fault> faults;
};

/// What `read` gives; where it throws faults they join `faults`, and nothing (a default value) is given.
template <class Read>
auto or_faults(std::vector<Fault>& faults, Read read) -> decltype(read()) {
  try {
    return read();
  } catch (const InputError& error) {
    faults.insert(faults.end(), error.faults.begin(), error.faults.end());
    return decltype(read())();
  }
}

/// A device, its driver, or another rank of a run on real devices failed. Thrown by real/ and kernels/, caught in main:
/// exit code 3.
struct DeviceError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

}  // namespace base
