// SPDX-License-Identifier: Apache-2.0
#include "real/executor/actions.h"

namespace real {
void add_expert_actions(Actions&) {}
}  // namespace real
