// tests/kernels/mx_cast_test.cpp -- kernels/mx_cast.h. SPDX-License-Identifier: Apache-2.0
#include "kernels/mx_cast.h"

#include <algorithm>
#include <cmath>

#include "tests/kernels/gradients.h"

namespace {

using test::Values;
namespace reference = kernels::reference;

TEST(MxCast, ABlockIsScaledByTheLeastPowerOfTwoThatKeepsIt) {
  // 40 columns: a block of 32 and one of 8. 448 just fits with 1; 449 needs 2; 3 / 2^-7 = 384 fits, 3 / 2^-8 does not.
  Values x(3 * 40);
  x[0] = 448;
  x[40] = 449;
  x[2 * 40 + 35] = -3;
  Values codes(x.size()), scales(kernels::mx_scales(3, 40)), none;
  reference::mx_cast({3, 40}, x, codes, scales, none, none);
  // In the first tile a row's scales lie 16 behind those of the row before.
  EXPECT_EQ((Values{scales[0], scales[1], scales[16], scales[17], scales[32], scales[33]}),
            (Values{1, 1, 2, 1, 1, 0x1p-7}));
  EXPECT_EQ(codes[0], 448);
  EXPECT_EQ(codes[40], 224);  // 224.5 to the nearest of 208, 224, 240
  EXPECT_EQ(codes[2 * 40 + 35], -384);
}

TEST(MxCast, EachLayoutHasScalesAlongItsOwnRows) {
  const Values x = test::random_values(40 * 36, 1);
  Values codes(x.size()), scales(kernels::mx_scales(40, 36));
  Values turned(x.size()), turned_scales(kernels::mx_scales(36, 40));
  reference::mx_cast({40, 36}, x, codes, scales, turned, turned_scales);
  Values transposed(x.size());
  for (int row = 0; row < 40; ++row) {
    for (int column = 0; column < 36; ++column) transposed[column * 40 + row] = x[row * 36 + column];
  }
  Values alone(x.size()), scales_alone(kernels::mx_scales(36, 40)), none;
  reference::mx_cast({36, 40}, transposed, alone, scales_alone, none, none);
  EXPECT_EQ(turned, alone);
  EXPECT_EQ(turned_scales, scales_alone);
  // Half of the last of 3 bits of mantissa, 2^-4 of a number; at least half the smallest step under the block's scale,
  // 2^-10, and a scale is at most 2 / 448 of a block's largest, here below 4.
  Values back(x.size());
  reference::mx_values({40, 36}, codes, scales, back);
  for (std::size_t i = 0; i < x.size(); ++i) {
    EXPECT_LE(std::fabs(back[i] - x[i]), std::max(std::fabs(x[i]) / 16, 4.0 * 2 / 448 * 0x1p-10)) << i;
  }
}

TEST(MxCast, ScalesFillWholeTiles) {
  EXPECT_EQ(kernels::mx_scales(128, 128), 512);  // 128 rows x 4 blocks
  EXPECT_EQ(kernels::mx_scales(129, 129), 2 * 2 * 512);
  EXPECT_EQ(kernels::mx_scales(1, 1), 512);
}

}  // namespace
