// SPDX-License-Identifier: Apache-2.0
#include "core/plan/frozen_base.h"

namespace plan {

using spec::LoraBase;

double base_bytes(LoraBase base) {
  switch (base) {
    case LoraBase::bf16: return 2;
    // One fp32 scale a column is left out.
    case LoraBase::int8: return 1;
    // A scale of 8 bits for 64 numbers and one of 32 bits for 256 of those: 0.127 bits a parameter (QLoRA, section 3).
    case LoraBase::nf4: return 0.5 + (8.0 / 64 + 32.0 / (64 * 256)) / 8;
  }
  return 2;
}

}  // namespace plan
