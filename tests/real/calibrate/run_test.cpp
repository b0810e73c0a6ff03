// tests/real/calibrate/run_test.cpp -- tests real/calibrate/run.h and points_file.h against a device whose clock is its
// own: budgets are kept, and a run that was cut goes on to the same file. SPDX-License-Identifier: Apache-2.0
#include "real/calibrate/run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "tests/real/calibrate/fake_bench.h"
#include "tests/real/calibrate/known_device.h"

namespace {

using real::PointsFile;
using ::testing::HasSubstr;

class CalibrationRun : public ::testing::Test {
 protected:
  std::string path(const std::string& name) const { return (folder_.path / name).string(); }
  static std::string content(const std::string& path) {
    std::ifstream in(path);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  /// What the call throws, in words.
  template <class Call>
  static std::string refusal(Call call) {
    try {
      call();
    } catch (const base::InputError& error) {
      return error.what();
    }
    return "nothing was thrown";
  }

  fake::Folder folder_;
  std::vector<real::Point> points_ = real::points(fake::models(), {});
};

TEST_F(CalibrationRun, ABudgetIsKeptAndUsed) {
  for (const double minutes : {0.5, 1.0, 5.0}) {
    for (const double slowness : {1.0, 4.0}) {  // a machine slower than was thought
      fake::Bench bench(fake::device());
      bench.setup = base::ms(15) * slowness;
      PointsFile file = PointsFile::begin(path("budget"), fake::machine());
      const base::Seconds budget = base::s(60 * minutes);
      const real::Progress done = real::run(bench, points_, file, budget);
      EXPECT_LE(bench.now(), budget) << minutes << " " << slowness;
      EXPECT_TRUE(done.left == 0 || bench.now() > budget * 0.8) << minutes << " " << slowness;
      EXPECT_EQ(static_cast<std::size_t>(done.timed + done.left), points_.size());
      std::filesystem::remove(path("budget"));
    }
  }
}

TEST_F(CalibrationRun, TimeForTheLastPointIsHeldBack) {
  fake::Bench bench(fake::device());
  PointsFile file = PointsFile::begin(path("last"), fake::machine());
  bench.setup = base::ms(25);  // each point takes longer than was likely
  const real::Progress done = real::run(bench, points_, file, base::s(30));
  EXPECT_GT(done.left, 0);
  const auto timed = real::read_points(path("last")).points;
  EXPECT_TRUE(std::holds_alternative<real::Sustained>(timed.back().shape));
  EXPECT_LE(bench.now(), base::s(30));
}

TEST_F(CalibrationRun, AShortBudgetIsForTheOthers) {
  fake::Bench bench(fake::device());
  PointsFile file = PointsFile::begin(path("short"), fake::machine());
  const real::Progress done = real::run(bench, points_, file, base::s(10));  // less than the last point lasts
  EXPECT_GT(done.timed, 20);
  EXPECT_LE(bench.now(), base::s(10));
}

TEST_F(CalibrationRun, ARunThatWasCutGoesOnToTheSameFile) {
  points_.resize(60);
  fake::Bench whole(fake::device());
  PointsFile file = PointsFile::begin(path("whole"), fake::machine());
  real::run(whole, points_, file, base::s(3600));
  for (const int cut : {0, 1, 30, 59}) {
    struct Cut {};
    fake::Bench first(fake::device()), second(fake::device());
    int left = cut;
    first.before_each = [&](const real::Shape&) {
      if (left-- == 0) throw Cut{};
    };
    PointsFile begun = PointsFile::begin(path("cut"), fake::machine());
    EXPECT_THROW(real::run(first, points_, begun, base::s(3600)), Cut);
    std::ofstream(path("cut"), std::ios::app) << R"({"shape":{"kind":"mat)";  // the machine went down while it wrote
    PointsFile resumed = PointsFile::resume(path("cut"), fake::machine());
    const real::Progress done = real::run(second, points_, resumed, base::s(3600));
    EXPECT_EQ(done.known, cut);
    EXPECT_EQ(done.timed, 60 - cut);
    EXPECT_EQ(content(path("cut")), content(path("whole")));
    std::filesystem::remove(path("cut"));
  }
}

TEST_F(CalibrationRun, APointThatCannotBeTimedIsVoidAndSaysWhy) {
  fake::Bench bench(fake::device());
  PointsFile file = PointsFile::begin(path("void"), fake::machine());
  const std::vector<real::Point> points{{real::CollectiveShape{real::CollectiveShape::Op::all_reduce, 1024, 2}},
                                        {real::kReferenceMatmul}};
  const real::Progress done = real::run(bench, points, file, base::s(60));
  EXPECT_EQ(done.timed, 2);
  EXPECT_EQ(done.voided, 1);
  const auto read = real::read_points(path("void")).points;
  ASSERT_EQ(read.size(), 2u);
  EXPECT_EQ(read[0].void_because, "there is one GPU");
  EXPECT_EQ(read[1].void_because, "");
}

TEST_F(CalibrationRun, RepetitionsThatDisagreeAreNoTime) {
  const auto of = [](std::vector<double> us) {
    std::vector<base::Seconds> samples;
    for (const double one : us) samples.push_back(base::us(one));
    return real::summarised(real::kReferenceMatmul, samples, {});
  };
  EXPECT_EQ(of({10, 12, 11}).void_because, "");
  EXPECT_EQ(of({10, 12, 11}).median, base::us(11));
  EXPECT_EQ(of({10, 12, 11, 13}).median, base::us(11.5));
  EXPECT_THAT(of({10, 12}).void_because, HasSubstr("only 2 repetitions"));
  EXPECT_THAT(of({10, 12, 20.5}).void_because, HasSubstr("repetitions took from 10.0 us to 20.5 us"));
  EXPECT_EQ(of({10, 12, 20}).void_because, "");  // twice is the most
  EXPECT_THAT(of({0, 12, 13}).void_because, HasSubstr("took no time"));
  // One of twenty that was held up says nothing: 80 % lie inside.
  std::vector<double> one_held_up(20, 10.0);
  one_held_up.back() = 1000;
  EXPECT_EQ(of(one_held_up).void_because, "");
}

TEST_F(CalibrationRun, PointsOfAnotherMachineAreNotGoneOnWith) {
  { const PointsFile begun = PointsFile::begin(path("a"), fake::machine()); }
  real::Machine other = fake::machine();
  other.driver = "600.00";
  EXPECT_THAT(refusal([&] { PointsFile::resume(path("a"), other); }),
              HasSubstr("the driver was 580.65.06 and is 600.00"));
  EXPECT_THAT(refusal([&] { PointsFile::begin(path("a"), fake::machine()); }), HasSubstr("--resume " + path("a")));
}

TEST_F(CalibrationRun, ABrokenLineIsToldWithItsNumber) {
  {
    fake::Bench bench(fake::device());
    PointsFile file = PointsFile::begin(path("a"), fake::machine());
    real::run(bench, {{real::kReferenceMatmul}}, file, base::s(60));
  }
  std::ofstream(path("a"), std::ios::app) << R"({"shape": {"kind": "matmull"}})" << '\n';
  EXPECT_THAT(refusal([&] { real::read_points(path("a")); }), HasSubstr("a:3:1: error: points: is no point: "));
  std::ofstream(path("b")) << "{}\n";
  EXPECT_THAT(refusal([&] { real::read_points(path("b")); }), HasSubstr("b:1:1: error: points: is no points file: "));
  EXPECT_THAT(refusal([&] { real::read_points(path("nowhere")); }), HasSubstr("there is no such file"));
}

}  // namespace
