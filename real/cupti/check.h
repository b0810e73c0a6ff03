// real/cupti/check.h -- what CUPTI returns, as an exception.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cupti.h>

#include <string>

#include "core/base/fault.h"

namespace real {

inline void check(CUptiResult status, const char* call) {
  if (status == CUPTI_SUCCESS) return;
  const char* why = "unknown error";
  cuptiGetResultString(status, &why);
  throw base::DeviceError(std::string(call) + ": " + why);
}

}  // namespace real
