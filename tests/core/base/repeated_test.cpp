// SPDX-License-Identifier: Apache-2.0
#include "core/base/repeated.h"

#include <gtest/gtest.h>

#include <string>

namespace {

TEST(Repeated, TellsEveryPlaceButTheFirst) {
  using Places = std::vector<std::size_t>;
  EXPECT_EQ(base::repeated(std::vector<std::string>{"a", "b", "a", "a"}), (Places{2, 3}));
  EXPECT_EQ(base::repeated(std::vector<int>{8, 16, 32}), Places{});
  EXPECT_EQ(base::repeated(std::vector<int>{}), Places{});
}

}  // namespace
