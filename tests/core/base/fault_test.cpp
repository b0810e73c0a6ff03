// SPDX-License-Identifier: Apache-2.0
#include "core/base/fault.h"

#include <gtest/gtest.h>

namespace base {
namespace {

TEST(Fault, TellsPlaceFieldAndMend) {
  EXPECT_EQ(to_string({"nvlink.bandwidth", "'900' has no unit", "write 900GB/s", {"dgx.yaml", 14, 16}}),
            "dgx.yaml:14:16: error: nvlink.bandwidth: '900' has no unit\n  mend: write 900GB/s");
}

TEST(Fault, LeavesOutWhatIsNotKnown) {
  EXPECT_EQ(to_string({"", "is empty", "", {"dgx.yaml", 0, 0}}), "dgx.yaml: error: is empty");
  EXPECT_EQ(to_string({"tp", "is odd", "", {}}), "error: tp: is odd");
}

TEST(InputError, TellsFaultsInFileOrder) {
  const InputError error({{"c", "3", "", {"f", 2, 1}}, {"a", "1", "", {"f", 1, 1}}, {"b", "2", "", {"f", 1, 9}}});
  EXPECT_STREQ(error.what(), "f:1:1: error: a: 1\nf:1:9: error: b: 2\nf:2:1: error: c: 3");
  EXPECT_EQ(error.faults.front().field, "a");
}

}  // namespace
}  // namespace base
