// SPDX-License-Identifier: Apache-2.0
#include "reports/tight.h"

namespace reports {

std::string tight_words() {
  return std::string(kTightMark) +
         ": so near to all of the memory that it may not fit where it is run; measured peaks differ from predicted "
         "ones by 3 to 7 % in the median";
}

}  // namespace reports
