// tests/real/calibrate/shape_test.cpp -- tests real/calibrate/shape.h and points.h: each point comes back from its
// text, and points come in an order that a cut run gains most by. SPDX-License-Identifier: Apache-2.0
#include "real/calibrate/shape.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "real/calibrate/cost.h"
#include "real/calibrate/points.h"

namespace {

using nlohmann::json;
using real::Shape;

const real::Offered kAll{.fp8 = true, .gpus = 8};

TEST(CalibrationShape, EveryPointComesBackFromItsText) {
  std::set<std::string> keys, words;
  const std::vector<real::Point> all = real::points({}, kAll);
  for (const real::Point& point : all) {
    const std::string text = real::key(point.shape);
    EXPECT_EQ(real::key(real::shape_from(json::parse(text))), text);
    keys.insert(text);
    words.insert(real::words(point.shape));
  }
  EXPECT_EQ(keys.size(), all.size());  // each once
  EXPECT_EQ(words.size(), all.size());
}

TEST(CalibrationShape, WhatIsNoShapeIsRefused) {
  for (const char* text :
       {"{}", R"({"kind": "matmul"})", R"({"kind": "matmull", "m": 1})", R"({"kind": "launch", "what": "isue"})",
        R"({"kind": "sustained", "seconds": 0})",
        R"({"kind": "matmul", "m": -1, "n": 1, "k": 1, "dtype": "bf16", "out": "bf16", "accumulates": false})"}) {
    EXPECT_ANY_THROW(real::shape_from(json::parse(text))) << text;
  }
}

/// A matmul nobody else uses, worth `share`.
real::Used used(std::int64_t side, double share) {
  return {config::MatmulRow{.m = side, .n = side + 256, .k = side}, share};
}

std::size_t place_of(const Shape& shape, const std::vector<real::Point>& points) {
  const auto at = std::find_if(points.begin(), points.end(),
                               [&](const real::Point& point) { return real::key(point.shape) == real::key(shape); });
  return static_cast<std::size_t>(at - points.begin());
}

TEST(CalibrationPoints, WhatModelsUseComesByTheShareThatASecondCovers) {
  // The costs of 1280 and 1536 differ by less than half: twice the share goes first. 16128 takes some 200 times longer
  // a repetition, so that even three times the share goes last.
  const std::vector<real::Used> models{used(1280, 0.1), used(1536, 0.2), used(16128, 0.3)};
  const auto points = real::points(models, {});
  EXPECT_LT(place_of(models[1].shape, points), place_of(models[0].shape, points));
  EXPECT_LT(place_of(models[0].shape, points), place_of(models[2].shape, points));
  EXPECT_EQ(place_of(real::kReferenceMatmul, points), 0u);  // anchors come before them
  EXPECT_LT(place_of(models[2].shape, points), points.size());
}

TEST(CalibrationPoints, TheGridIsInARandomOrderThatIsTheSameEachTime) {
  const std::vector<Shape> once = real::grid(kAll), again = real::grid(kAll);
  ASSERT_EQ(once.size(), again.size());
  std::vector<std::string> keys;
  for (std::size_t i = 0; i < once.size(); ++i) {
    EXPECT_EQ(real::key(once[i]), real::key(again[i]));
    keys.push_back(real::key(once[i]));
  }
  EXPECT_FALSE(std::is_sorted(keys.begin(), keys.end()));
}

TEST(CalibrationPoints, AMachineIsAskedForWhatItHas) {
  const auto holds = [](const std::vector<real::Point>& points, const char* text) {
    return std::any_of(points.begin(), points.end(), [&](const real::Point& point) {
      return real::key(point.shape).find(text) != std::string::npos;
    });
  };
  const auto one = real::points({}, {}), all = real::points({}, kAll);
  for (const char* text : {"\"fp8\"", "\"cast\"", "collective"}) {
    EXPECT_FALSE(holds(one, text)) << text;
    EXPECT_TRUE(holds(all, text)) << text;
  }
  // Groups of 8, 4 and 2 GPUs.
  for (const char* text : {"\"ranks\":8", "\"ranks\":4", "\"ranks\":2"}) EXPECT_TRUE(holds(all, text)) << text;
  EXPECT_FALSE(holds(all, "\"ranks\":3"));
}

// 1 GiB over 24 ranks is 44,739,242.67 bytes each: 44,739,232 are the next multiple of 16 below.
TEST(CalibrationPoints, SharesOfCollectivesBeginAtMultiplesOf16Bytes) {
  using Op = real::CollectiveShape::Op;
  std::int64_t largest = 0;
  for (const real::Point& point : real::collective_points({.fp8 = false, .gpus = 8, .nodes = 3})) {
    const auto& s = std::get<real::CollectiveShape>(point.shape);
    EXPECT_GT(s.bytes, 0);
    if (s.op != Op::all_gather && s.op != Op::reduce_scatter && s.op != Op::all_to_all) continue;
    EXPECT_EQ(s.bytes % (16 * s.ranks), 0) << real::words(s);
    if (s.ranks == 24) largest = std::max(largest, s.bytes);
  }
  EXPECT_EQ(largest, 24 * 44'739'232);
}

TEST(CalibrationPoints, TheSustainedRunIsLast) {
  const auto points = real::points({}, kAll);
  EXPECT_TRUE(std::holds_alternative<real::Sustained>(points.back().shape));
  EXPECT_EQ(std::count_if(points.begin(), points.end(), [](const real::Point& point) { return point.last; }), 1);
}

TEST(CalibrationPoints, AnchorsFitIntoAMinute) {
  // What a run of 5 minutes begins with leaves it most of its time: to the last interference point, all there is on one
  // GPU but models and grid.
  const auto points = real::points({}, {.fp8 = true});
  const std::size_t last = place_of(real::Beside{real::Beside::Subject::attention, 4, true}, points);
  ASSERT_LT(last, points.size());
  base::Seconds sum;
  for (std::size_t i = 0; i <= last; ++i) sum += real::cost(points[i].shape);
  EXPECT_LT(sum, base::s(60)) << sum.si();
}

}  // namespace
