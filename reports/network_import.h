// reports/network_import.h -- what `forerun import nccl-tests` read, for people.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "core/result/network_import.h"
#include "reports/style.h"

namespace reports {

std::string network_import_text(const result::NetworkImport&, const Style& = {});

}  // namespace reports
