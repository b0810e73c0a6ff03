// tests/reports/sample.h -- one prediction and one trace, small enough to check by eye; all views are golden on them.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "core/result/prediction.h"
#include "core/trace/trace.h"

namespace sample {

/// Two stages on 16 GPUs. The step of 10 s is 7.5 + 1 + 0 + 0.5 + 0.75 + 0.25 s; a stage's categories add up to its
/// peak.
inline result::Prediction prediction() {
  result::Prediction p;
  p.job = "llama3-8b on 16 h100-sxm (dgx-h100, rail-400g): tp 4 sp, pp 2 1f1b, dp 2, zero 1, bf16";
  p.gpus = 16;
  p.step_time_s = 10;
  p.step_time_low_s = 9.5;
  p.step_time_high_s = 10.75;
  p.interval_contributions = {{"software stack", 1, 0, 0.0625},
                              {"matmul bf16", 0.75, 0.03125, 0.03125},
                              {"steps with zero3", 1, 0.015625, 0.03125},
                              {"norm kernels", 0.125, 0.0078125, 0.0078125}};
  p.tokens_per_s = 104857.6;
  p.tokens_per_s_per_gpu = 6553.6;
  p.model_tflops_per_gpu = 395.6;
  p.hardware_tflops_per_gpu = 420.25;
  p.mfu = 0.4;
  p.hfu = 0.425;
  p.mfu_of_precision = 0.4;
  p.bubble_fraction = 0.075;
  p.breakdown_stage = 1;
  p.breakdown_s = {{"compute", 7.5},    {"exposed_tp", 1}, {"exposed_cp", 0},
                   {"exposed_dp", 0.5}, {"bubble", 0.75},  {"optimizer", 0.25}};
  p.fits = true;
  p.capacity_bytes = 80'000'000'000;
  p.peak_bytes = p.smi_bytes = 60'000'000'000;
  p.allocated_bytes = 57'000'000'000;
  p.reserved_bytes = 58'500'000'000;
  p.stages = {{0,
               60'000'000'000,
               80'000'000'000,
               {{"parameters", 10'000'000'000},
                {"gradients", 12'000'000'000},
                {"optimizer", 20'000'000'000},
                {"activations", 17'000'000'000},
                {"reserved", 1'000'000'000}},
               "forward layer 7 microbatch 1: attention",
               2.5},
              {1,
               40'000'000'000,
               80'000'000'000,
               {{"parameters", 10'000'000'000},
                {"gradients", 12'000'000'000},
                {"optimizer", 10'000'000'000},
                {"activations", 7'000'000'000},
                {"reserved", 1'000'000'000}},
               "backward layer 15 microbatch 0: head",
               3.25}};
  p.communication = {{"tp", 400'000'000'000, 1280, 2, 300e9}, {"dp", 8'000'000'000, 4, 0.75, 40e9}, {"cp", 0, 0, 0, 0}};
  p.provenance = {{"matmul bf16 on h100-sxm", "measured", "a published sweep of matmuls"},
                  {"hbm of h100-sxm", "datasheet", "the GPU's data sheet"},
                  {"send over infiniband", "assumed", "as all_gather"}};
  p.warnings = {
      "sequence 16384 is beyond the 8192 positions that llama3-8b was trained with: the prediction is of the same "
      "arithmetic, whatever the model then makes of it"};
  p.settings = {{"strategy.tp", "4"}, {"strategy.framework", "megatron"}};
  p.assumptions = {"attention_kernel: flash3"};
  p.operators = 123456;
  return p;
}

/// The same when it needs 90 GB of 80.
inline result::Prediction too_large() {
  result::Prediction p = prediction();
  p.fits = false;
  p.stages[0].peak_bytes = p.peak_bytes = 90'000'000'000;
  p.stages[0].categories[3].second = 47'000'000'000;
  p.attack = "activations";
  p.mends = {"--recompute selective", "--micro-batch 1"};
  p.mend_step_times_s = {10.4, 12.6};
  return p;
}

/// Two stages of two streams (compute, communication), times in microseconds:
///   stage 0 compute    a 0..2   b 2..5 (waits for nothing)
///   stage 0 send next  s 5..7 (waits for b)
///   stage 1 recv prev  r 5..7 (posted at 0, the same transfer)
///   stage 1 compute    c 7..9.000001 (waits for r)
inline trace::Trace trace() {
  constexpr trace::Ticks us = 1'000'000;
  trace::Trace t;
  t.names = {"a", "b", "send \"x\"", "recv", "c"};
  t.phases = {"forward", "backward"};
  t.streams = 2;
  t.tracks.resize(4);
  t.tracks[0] = {0, 0, "compute", {}};
  t.tracks[1] = {0, 0, "send next", {}};
  t.tracks[2] = {8, 1, "compute", {}};
  t.tracks[3] = {8, 1, "recv prev", {}};
  t.tracks[0].spans = {{.ready = 0, .start = 0, .end = 2 * us, .name = 0, .microbatch = 0, .layer = 3, .chunk = 0},
                       {.ready = 2 * us,
                        .start = 2 * us,
                        .end = 5 * us,
                        .name = 1,
                        .microbatch = 0,
                        .layer = 3,
                        .chunk = 0,
                        .phase = 1}};
  t.tracks[1].spans = {
      {.ready = 5 * us, .start = 5 * us, .end = 7 * us, .name = 2, .microbatch = 0, .waited_for = 0, .channel = 0}};
  t.tracks[2].spans = {
      {.ready = 7 * us, .start = 7 * us, .end = 9 * us + 1, .name = 4, .microbatch = 0, .layer = 4, .waited_for = 1}};
  t.tracks[3].spans = {{.ready = 0, .start = 5 * us, .end = 7 * us, .name = 3, .microbatch = 0, .channel = 0}};
  t.memory = {{0, 0, {{0, 1000}, {2 * us, 1500}}}, {8, 1, {{0, 900}}}};
  t.length = 9 * us + 1;
  return t;
}

}  // namespace sample
