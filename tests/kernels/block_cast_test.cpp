// tests/kernels/block_cast_test.cpp -- kernels/block_cast.h. SPDX-License-Identifier: Apache-2.0
#include "kernels/block_cast.h"

#include <algorithm>
#include <cmath>

#include "tests/kernels/gradients.h"

namespace {

using kernels::Scales;
using test::Values;
namespace reference = kernels::reference;

TEST(BlockCast, AScaleIsTheLeastPowerOfTwoThatKeepsItsNumbers) {
  // 448 just fits with 1; 449 needs 2; 3 / 2^-7 = 384 fits, 3 / 2^-8 does not; zeros have 1.
  const Values x{448, -1, 449, 0, 0, -3, 0, 0};
  Values codes(8), scales(4), none;
  reference::block_cast({Scales::rows, 4, 2}, x, codes, scales, none, none);
  EXPECT_EQ(scales, (Values{1, 2, 0x1p-7, 1}));
  EXPECT_EQ(codes, (Values{448, -1, 224, 0, 0, -384, 0, 0}));  // 224.5 to the nearest of 208, 224, 240
}

TEST(BlockCast, ScalesLieAsTensorCoresReadThem) {
  // 3 rows in fours; 300 columns are 3 lines of 128. Squares: 2 down, 3 across in fours.
  EXPECT_EQ(kernels::count_scales(Scales::rows, 3, 300), 3);
  EXPECT_EQ(kernels::count_scales(Scales::lines, 3, 300), 3 * 4);
  EXPECT_EQ(kernels::count_scales(Scales::squares, 200, 300), 2 * 4);
  EXPECT_EQ(kernels::place_of_scale(Scales::lines, 3, 300, 2, 299), 2 * 4 + 2);
  EXPECT_EQ(kernels::place_of_scale(Scales::squares, 200, 300, 199, 299), 4 + 2);
  EXPECT_EQ(kernels::place_of_scale(Scales::squares, 200, 700, 199, 699), 8 + 5);  // 6 across: eight
}

/// The plain way: each number's block is searched for its largest.
double scale_of(const Values& x, std::int64_t rows, std::int64_t columns, std::int64_t row, std::int64_t column,
                std::int64_t height, std::int64_t width) {
  double largest = 0;
  const std::int64_t top = row / height * height, left = column / width * width;
  for (std::int64_t i = top; i < std::min(top + height, rows); ++i) {
    for (std::int64_t j = left; j < std::min(left + width, columns); ++j) {
      largest = std::max(largest, std::fabs(x[i * columns + j]));
    }
  }
  double scale = 1;
  while (largest / scale > 448) scale *= 2;
  while (largest / (scale / 2) <= 448) scale /= 2;
  return scale;
}

TEST(BlockCast, EachNumberIsItsCodeTimesTheScaleOfItsBlock) {
  constexpr std::int64_t kRows = 150, kColumns = 260;
  const Values x = test::random_values(kRows * kColumns, 1);
  for (const auto& [scales, height, width] :
       {std::tuple{Scales::rows, std::int64_t{1}, kColumns}, {Scales::lines, 1, 128}, {Scales::squares, 128, 128}}) {
    Values codes(x.size()), of_codes(kernels::count_scales(scales, kRows, kColumns)), back(x.size());
    Values turned(x.size()), of_turned(kernels::count_scales(scales, kColumns, kRows));
    reference::block_cast({scales, kRows, kColumns}, x, codes, of_codes, turned, of_turned);
    reference::block_values({scales, kRows, kColumns}, codes, of_codes, back);
    for (std::int64_t i = 0; i < kRows * kColumns; i += 7) {
      const double scale = scale_of(x, kRows, kColumns, i / kColumns, i % kColumns, height, width);
      EXPECT_EQ(of_codes[kernels::place_of_scale(scales, kRows, kColumns, i / kColumns, i % kColumns)], scale);
      // Half of the last of 3 bits of mantissa, or half the smallest step under the scale.
      EXPECT_LE(std::fabs(back[i] - x[i]), std::max(std::fabs(x[i]) / 16, scale * 0x1p-10)) << i;
    }
    // The other layout is that of the matrix transposed.
    Values transposed(x.size()), alone(x.size()), of_alone(of_turned.size()), none;
    for (std::int64_t i = 0; i < kRows * kColumns; ++i) transposed[i % kColumns * kRows + i / kColumns] = x[i];
    reference::block_cast({scales, kColumns, kRows}, transposed, alone, of_alone, none, none);
    EXPECT_EQ(turned, alone);
    EXPECT_EQ(of_turned, of_alone);
  }
}

}  // namespace
