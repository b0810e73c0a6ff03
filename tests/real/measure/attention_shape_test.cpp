// tests/real/measure/attention_shape_test.cpp -- tests real/measure/attention_shape.h: a mask said simpler hides the
// same keys, and cannot be said simpler yet. SPDX-License-Identifier: Apache-2.0
#include "real/measure/attention_shape.h"

#include <gtest/gtest.h>

namespace {

using kernels::Attention;
using real::simplest;

TEST(AttentionShape, TheSimplerMaskHidesTheSameKeys) {
  for (const bool causal : {false, true}) {
    for (int offset = -4; offset <= 8; ++offset) {
      for (int window = 0; window <= 8; ++window) {
        Attention a{.queries = 4, .keys = 4};
        a.causal = causal;
        a.offset = offset;
        a.window = window;
        const Attention b = simplest(a);
        for (int q = 0; q < 4; ++q) {
          for (int k = 0; k < 4; ++k) EXPECT_EQ(a.sees(q, k), b.sees(q, k)) << causal << offset << window;
        }
      }
    }
  }
}

TEST(AttentionShape, KeysOfAnEarlierStretchNeedNoMask) {
  // Queries from place 4 on, on keys 0 to 3: all of them lie before every query.
  Attention a{.queries = 4, .keys = 4};
  a.causal = true;
  a.offset = 4;
  EXPECT_FALSE(simplest(a).causal);
  EXPECT_EQ(simplest(a).offset, 0);
  a.offset = 3;  // query 0 stands at the last key: it sees all
  EXPECT_FALSE(simplest(a).causal);
  a.offset = 2;  // and here not the last one
  EXPECT_TRUE(simplest(a).causal);
}

}  // namespace
