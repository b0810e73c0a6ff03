// SPDX-License-Identifier: Apache-2.0
#include "real/memory/planned.h"

namespace real {

Ledger planned(const plan::Plan& plan, const plan::Role& role) {
  Ledger ledger;
  for (int i = 0; i < plan::kCategories; ++i) ledger.take(static_cast<plan::Category>(i), role.resident[i]);
  for (const plan::Call& call : role.calls) {
    for (const plan::MemoryChange& change : plan.segments[call.segment].memory) {
      if (change.bytes >= 0) {
        ledger.take(change.category, change.bytes);
      } else {
        ledger.give(change.category, -change.bytes);
      }
    }
  }
  return ledger;
}

}  // namespace real
