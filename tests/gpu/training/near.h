// tests/gpu/training/near.h -- jobs for GPUs, small, and the claim that the GPU backend computes of each what the CPU
// backend does in double, to the rounding of its numbers. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "tests/gpu/training/gpus.h"
#include "tests/gpu/training/train.h"
#include "tests/real/executor/cases.h"

namespace gpus {

using tiny::Case;
using tiny::Change;

/// Of tiny.h's model, 64 wide, on 16 tokens: what fp8 asks of cuBLASLt on two ranks is met.
spec::Job job_of(const spec::Model&, const Case&);

/// The same job of 64 wide layers on 16 tokens, not resolved.
spec::Job widened(spec::Job);

/// How far a run may be from one in double. Of a parameter's gradient: length of the difference over its length.
struct Close {
  double loss, norm, gradient;
};
inline constexpr Close kBf16{0.002, 0.01, 0.08};
inline constexpr Close kFp8{0.01, 0.03, 0.4};  // moves gradients by a fifth

struct Check {
  Close close = kBf16;
  bool gradients = true;
  bool twice = true;  // on emulated GPUs: again, with streams that take other turns
};

/// Of each case that has the GPUs it needs; the others are named. Gradients and losses are looked at in the first
/// step: in later ones small differences have grown.
void expect_near(const spec::Model&, const std::vector<Case>&, const Check& = {});

/// Of a job that is resolved, where there are the GPUs.
void expect_near(const spec::Job&, const std::string& name, const Check&, unsigned seed);

/// In a narrower format whose scales both backends choose alike: near, and with errors against double that agree. Not
/// all do: a number that bf16 has moved across the middle of two codes gets the other one.
void expect_near_and_rounded_alike(const spec::Model&, const std::vector<Case>&);

Change offload(const spec::Offload&, std::int64_t tile = 0);
Change fp8(spec::Fp8Recipe);
Change packed(std::vector<std::int64_t> lengths);
inline void lora(spec::Job& j) { j.strategy.lora = {.rank = 8, .qkv = true, .proj = true, .ffn = true}; }
inline void dropout(spec::Job& j) { j.training.dropout = 0.1; }
/// A microbatch for each of two ranks.
inline void one_each(spec::Job& j) { j.training.global_batch = 2; }

}  // namespace gpus
