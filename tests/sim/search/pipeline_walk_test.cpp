// tests/sim/search/pipeline_walk_test.cpp -- small pipelines whose times can be worked out on paper.
// SPDX-License-Identifier: Apache-2.0
#include "sim/search/pipeline_walk.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace {

/// Forwards of 1 s and backwards of 2 s on every stage.
std::vector<sim::StageEnd> walked(const sim::ShapeKey& key, double transfer, double gather = 0, double reduction = 0,
                                  bool blocking = false) {
  const sim::PipelineShape shape = sim::pipeline_shape(key);
  sim::ChunkTimes times{.forward = {.time = 1}, .backward = {.time = 2}, .weights = {}, .first_forward = 1};
  if (gather > 0) times.gathers = {{1, gather}};
  if (reduction > 0) times.reductions = {{0.5, reduction}};
  sim::WalkInput in{
      .shape = shape, .times = {}, .chunks = key.chunks, .zeroing = {}, .transfer = transfer, .blocking = blocking};
  in.times.assign(static_cast<std::size_t>(key.stages) * key.chunks, &times);
  in.zeroing.assign(key.stages, 0);
  return sim::walk(in);
}

TEST(PipelineWalk, OneForwardOneBackwardTakesMicrobatchesAndStagesLessOne) {
  // (8 microbatches + 4 stages - 1) x (1 + 2) = 33 on the first stage.
  EXPECT_DOUBLE_EQ(walked({.stages = 4, .microbatches = 8}, 0).front().passes, 33);
}

TEST(PipelineWalk, ChunksFillThePipelineFaster) {
  // Two chunks of half a stage each: a bubble of 3 x 3 half as large. Passes here are whole, so twice the work:
  // (2 x 8 + 3) x 3 = 57 against (16 + 3) x 3 of sixteen microbatches through stages of one chunk.
  EXPECT_DOUBLE_EQ(walked({spec::Schedule::interleaved, 4, 2, 8}, 0).front().passes, 57);
}

TEST(PipelineWalk, ATransferDelaysTheFirstAndIsHiddenBehindTheOthers) {
  // Two stages, two microbatches: F1 arrives at 1.25; the last gradient leaves stage 1 at 1.25 + 2 x 3 and takes 0.25,
  // then a backward of 2: 9.5.
  EXPECT_DOUBLE_EQ(walked({.stages = 2, .microbatches = 2}, 0.25).front().passes, 9.5);
}

TEST(PipelineWalk, ABlockingExchangeHoldsTheSender) {
  // Stage 0 sends its first microbatch from 1 to 2 and computes the second behind it, from 2 to 3.
  const std::vector<sim::StageEnd> ends = walked({.stages = 2, .microbatches = 2}, 1, 0, 0, true);
  // Stage 1: F from 2 to 3, B to 5; the second input travels then, 5 to 6, beside the gradient; F to 7, B to 9; its
  // gradient arrives at 10. Stage 0: B of the first from 6 to 8, of the second from 10 to 12.
  EXPECT_DOUBLE_EQ(ends[0].passes, 12);
}

TEST(PipelineWalk, GathersHoldTheFirstForwardAndReductionsEndBehindTheLastBackward) {
  // Gathered from 0 to 3, then forward and backward to 6; half of the backward makes the gradients, at 5, that fly 4 s.
  const sim::StageEnd end = walked({.stages = 1, .microbatches = 1}, 0, 3, 4).front();
  EXPECT_DOUBLE_EQ(end.passes, 6);
  EXPECT_DOUBLE_EQ(end.reduced, 9);
}

TEST(PipelineWalk, TheFirstGatherOfAStageDoesNotWaitForItsInput) {
  // Two gathers, of 3 s for the first half of a forward and of 1 s for the second, behind hosts that wait for inputs.
  const sim::PipelineShape shape = sim::pipeline_shape({.stages = 2, .microbatches = 1});
  const sim::ChunkTimes times{.forward = {.time = 1},
                              .backward = {.time = 2},
                              .weights = {},
                              .first_forward = 1,
                              .gathers = {{0.5, 3}, {1, 1}},
                              .reductions = {}};
  const sim::WalkInput in{.shape = shape, .times = {&times, &times}, .zeroing = {0, 0}, .host_waits = true};
  const std::vector<sim::StageEnd> ends = sim::walk(in);
  // Stage 0: gathers from 0 to 3 and to 4, halves of the forward from 3 to 3.5 and from 4 to 4.5. Stage 1 has gathered
  // from 0 to 3 as well, so that it computes from 4.5 to 5, but asks for the rest at 4.5: from 5.5 to 6, B to 8. Asked
  // for at 4.5 too, the first would come at 7.5.
  EXPECT_DOUBLE_EQ(ends[1].passes, 8);
  EXPECT_DOUBLE_EQ(ends[0].passes, 10);
}

/// Two stages, one microbatch: forwards of 1 s, backwards of 2 s.
std::vector<sim::StageEnd> walked(const sim::ChunkTimes& times, double transfer, bool shared_link) {
  const sim::PipelineShape shape = sim::pipeline_shape({.stages = 2, .microbatches = 1});
  return sim::walk(
      {.shape = shape, .times = {&times, &times}, .zeroing = {0, 0}, .transfer = transfer, .shared_link = shared_link});
}

TEST(PipelineWalk, ATransferAndACollectiveHaveHalfOfASharedLinkEach) {
  // F from 0 to 1 and from 2 to 3, then B to 5, whose gradients, half of them ready at 4, fly for 4 s. What stage 0
  // waits for flies from 5 to 7 instead of 6, and holds the collective for as long as it would alone: to 9.
  const sim::ChunkTimes times{.forward = {.time = 1},
                              .backward = {.time = 2},
                              .weights = {},
                              .first_forward = 1,
                              .gathers = {},
                              .reductions = {{0.5, 4}}};
  const std::vector<sim::StageEnd> ends = walked(times, 1, true);
  EXPECT_DOUBLE_EQ(ends[1].reduced, 9);
  EXPECT_DOUBLE_EQ(ends[0].passes, 9);
  EXPECT_DOUBLE_EQ(walked(times, 1, false)[0].passes, 8);
}

TEST(PipelineWalk, KernelsBeginLateBehindAnInputThatWasWaitedFor) {
  // F to 1, there at 1.25 and put together at 1.75, F to 2.75, B to 4.75; there at 5 and put together at 5.5, B to 7.5.
  const sim::ChunkTimes times{
      .forward = {.time = 1, .late = 0.5}, .backward = {.time = 2, .late = 0.5}, .weights = {}, .first_forward = 1};
  EXPECT_DOUBLE_EQ(walked(times, 0.25, false)[0].passes, 7.5);
}

TEST(PipelineWalk, APassBesideATransferIsSlowed) {
  // At half the pace beside transfers of 1 s. Stage 0: F to 1; the second, from 1 on, has done 0.5 when the first has
  // arrived at 2, and ends at 2.5. Stage 1: F from 2, 0.5 done when the second input leaves at 2.5; it arrives at 3.5
  // and the F ends then; B to 5.5; the second F, beside the gradient's flight to 6.5, to 7, B to 9. Stage 0: B from
  // 6.5 to 8.5, and from 10 to 12.
  const sim::PipelineShape shape = sim::pipeline_shape({.stages = 2, .microbatches = 2});
  const std::vector<sim::PassSection> half{{.end = 2, .exchange = {}, .transfer = {.pass = 2}}};
  const sim::ChunkTimes times{.forward = {.time = 1, .sections = half},
                              .backward = {.time = 2, .sections = half},
                              .weights = {},
                              .first_forward = 1};
  const std::vector<sim::StageEnd> ends =
      sim::walk({.shape = shape, .times = {&times, &times}, .zeroing = {0, 0}, .transfer = 1});
  EXPECT_DOUBLE_EQ(ends[1].passes, 9);
  EXPECT_DOUBLE_EQ(ends[0].passes, 12);
}

TEST(PipelineWalk, ACollectiveIsSlowedForAsLongAsAPassRunsBesideIt) {
  // F to 1, B to 3, whose gradients, ready at 2, fly for 4 s: at half the pace up to 3, which leaves 3.5 s.
  const sim::PipelineShape shape = sim::pipeline_shape({.stages = 1, .microbatches = 1});
  const sim::ChunkTimes times{
      .forward = {.time = 1},
      .backward = {.time = 2, .sections = {{.end = 2, .exchange = {.other = 2}, .transfer = {}}}},
      .weights = {},
      .first_forward = 1,
      .gathers = {},
      .reductions = {{0.5, 4}}};
  const sim::StageEnd end = sim::walk({.shape = shape, .times = {&times}, .zeroing = {0}}).front();
  EXPECT_DOUBLE_EQ(end.passes, 3);
  EXPECT_DOUBLE_EQ(end.reduced, 6.5);
}

/// Two stages of two chunks, whose parameters take 3 s to gather, two microbatches; so many operators a forward.
double gathered_behind(double operators, bool gathers_follow = false) {
  const sim::PipelineShape shape = sim::pipeline_shape({spec::Schedule::interleaved, 2, 2, 2});
  const sim::ChunkTimes times{.forward = {.time = 1, .operators = operators},
                              .backward = {.time = 2},
                              .weights = {},
                              .first_forward = 1,
                              .gathers = {{1, 3}},
                              .reductions = {}};
  const sim::WalkInput in{.shape = shape,
                          .times = {&times, &times, &times, &times},
                          .chunks = 2,
                          .zeroing = {0, 0},
                          .gathers_follow = gathers_follow};
  const sim::StageEnd end = sim::walk(in).front();
  EXPECT_DOUBLE_EQ(end.first, 3);
  return end.passes;
}

TEST(PipelineWalk, AGatherIsAskedForWhenTheHostComesToIt) {
  // With its host far ahead, each stage gathers to 3 and to 6. Stage 0: F of chunk 0 to 4 and 5, of chunk 1, whose
  // inputs came at 5 and 6, to 7 and 8. Stage 1: F of chunk 0 to 5 and 6, then F B F B of chunk 1, to 8, 10, 11 and 13.
  // Stage 0: B of chunk 1 to 12 and 15; stage 1: of chunk 0 to 15 and 17; stage 0: to 17 and 19.
  EXPECT_DOUBLE_EQ(gathered_behind(0), 19);
  // A launch queue of 1,024 operators has room for those of the third forward when the first has run, at 4 instead of
  // 3: all from the gathers of chunk 1 on comes a second later.
  EXPECT_DOUBLE_EQ(gathered_behind(1024), 20);
  EXPECT_DOUBLE_EQ(gathered_behind(512), 19);  // room for two forwards ahead
}

TEST(PipelineWalk, AGatherWaitsForThePassBeforeWhereStepsAreNotApart) {
  // Stage 0: F of chunk 0 to 4 and 5, then its gather to 8, F of chunk 1 to 9 and 10. Stage 1: F of chunk 0 to 5 and 6,
  // its gather to 9, F B F B of chunk 1 to 10, 12, 13 and 15. Stage 0: B of chunk 1 to 14 and 17; stage 1: of chunk 0
  // to 17 and 19; stage 0: to 19 and 21.
  EXPECT_DOUBLE_EQ(gathered_behind(0, true), 21);
}

/// Every pass runs: none of a stage's ends is before its passes' own time.
void expect_all_ran(const sim::ShapeKey& key, bool blocking) {
  const sim::PipelineShape shape = sim::pipeline_shape(key);
  const std::vector<sim::StageEnd> ends = walked(key, 0.25, 0, 0, blocking);
  for (int stage = 0; stage < key.stages; ++stage) {
    double busy = 0;
    for (int i = shape.first_of[stage]; i < shape.first_of[stage + 1]; ++i) {
      const plan::Pass pass = shape.passes[i].pass;
      busy += pass == plan::Pass::forward ? 1 : pass == plan::Pass::weight_gradient ? 0 : 2;
    }
    EXPECT_GE(ends[stage].passes, ends[stage].first + busy - 1e-9) << stage;
  }
}

TEST(PipelineWalk, NoScheduleWaitsForItself) {
  using spec::Schedule;
  for (const int stages : {1, 2, 3, 8}) {
    for (const int microbatches : {8, 24}) {
      for (const Schedule schedule : {Schedule::gpipe, Schedule::one_f_one_b, Schedule::zb_h1}) {
        expect_all_ran({schedule, stages, 1, microbatches}, false);
      }
      expect_all_ran({Schedule::one_f_one_b, stages, 1, microbatches}, true);
      if (stages > 1) expect_all_ran({Schedule::zb_v, stages, 2, microbatches}, false);
      if (stages > 1 && microbatches % stages == 0) {
        expect_all_ran({Schedule::interleaved, stages, 5, microbatches}, false);
      }
    }
  }
}

TEST(PipelineShape, AStageHoldsAsManyMicrobatchesAsAreBehindIt) {
  const sim::PipelineShape shape = sim::pipeline_shape({.stages = 4, .microbatches = 8});
  for (int stage = 0; stage < 4; ++stage) {
    int most = 0;
    for (const sim::Fullness& moment : shape.fullest[stage]) {
      const int forward = moment.pass == plan::Pass::forward ? 1 : 0;
      most = std::max(most, moment.forwards[0] + forward);
    }
    EXPECT_EQ(most, 4 - stage);  // Narayanan et al., SC'21
    EXPECT_EQ(shape.like_before[stage], stage > 0);
  }
}

}  // namespace
