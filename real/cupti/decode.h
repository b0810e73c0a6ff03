// real/cupti/decode.h -- a buffer that CUPTI filled, as records of our own.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

#include "real/trace/records.h"

namespace real {

/// Appends to `to`. `buffer` is aligned to 8 bytes, of which the first `bytes` are records. Needs no GPU and no driver.
/// Records of kinds that are not asked for are passed over, external ids other than the collector's own too.
void decode(std::uint8_t* buffer, std::size_t bytes, Records& to);

}  // namespace real
