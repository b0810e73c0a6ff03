// core/plan/schedule/schedule.h -- in which order a stage runs its microbatches. One schedule a file; orders() names
// them all. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "core/plan/schedule/pass.h"
#include "core/spec/schedule.h"

namespace plan {

/// One pass of one microbatch through one of the stage's chunks.
struct Slot {
  Pass pass = Pass::forward;
  int microbatch = 0;
  int chunk = 0;
  int other = -1, other_chunk = -1;  // overlapped: the microbatch that goes backward, and through which chunk
  bool operator==(const Slot&) const = default;
};

/// What of the pipeline an order depends on.
struct Pipeline {
  int stage = 0, stages = 1, chunks = 1;
  int microbatches = 1;
  bool beside = false;  // 1F1B and interleaved: a forward and the backward behind it are one overlapped pass
  // 1F1B and interleaved: forwards that each stage runs ahead of the first backward beyond its usual ones
  int lead = 0;
};

/// Shares of the vocabulary's work on every stage, in units of one forward of one chunk.
struct VocabularyPasses {
  int barriers = 2;     // 2: only logits_gradient ends what the last backward waits for; 1: logits does
  double logits = 0;    // the forward matmul
  double backward = 2;  // a chunk's backward
};

/// Every forward before any backward. Huang et al., arXiv 1811.06965.
std::vector<Slot> gpipe(const Pipeline&);
/// A stage forwards as many microbatches as there are stages behind it, then one forward, one backward. Narayanan et
/// al., SC'21, arXiv 2104.04473, fig. 4 above (PipeDream-flush).
std::vector<Slot> one_f_one_b(const Pipeline&);
/// The same with several chunks a stage; microbatches go through them in groups of `stages`. Narayanan et al., fig. 4
/// below. REQUIRES: microbatches a multiple of `stages`, as in Megatron, or no more than them; stages can wait for one
/// another for ever behind a smaller last group (check() refuses it).
/// `beside` runs one forward more ahead, so that neither half of a pair waits for what the other stages make of the
/// pair before (Megatron-Core's overlap_moe_expert_parallel_comm); 1F1B is then the same with one chunk, twice as far
/// ahead.
std::vector<Slot> interleaved(const Pipeline&);
/// 1F1B whose stage s runs the weight gradients s microbatches late, so that every stage holds what 1F1B's first does.
/// Qi et al., arXiv 2401.10241, section 2.1.
std::vector<Slot> zb_h1(const Pipeline&);
/// Forwards until the first gradient comes back, 2 `stages` - 1 microbatches at most; weight gradients fill what would
/// be a bubble. Ibid., section 2.2. Orders of all stages, for each depends on the others.
std::vector<std::vector<Slot>> zb_h2(const Pipeline&);
/// Two chunks a stage: chunk 0 goes down the stages, chunk 1 comes back up. No more is held than 2 `stages` chunks,
/// 1F1B's most. Qi et al., arXiv 2405.15362, section 4.
std::vector<std::vector<Slot>> zb_v(const Pipeline&);
/// Microbatches from both ends, half of them each way: on the first half of the stages chunk 0 goes down, chunk 1 up;
/// a forward of one direction runs beside a backward of the other. DeepSeek-V3, arXiv 2412.19437, section 3.2.1 and
/// fig. 5. Microbatches of a direction count from 0. REQUIRES: stages even, microbatches even and at least 2 `stages`.
std::vector<Slot> dualpipe(const Pipeline&);
/// The steady state of 1F1B without a flush: what a stage forwards here it sends backward in the next step when it is
/// ahead. Narayanan et al., SOSP'19 (PipeDream).
std::vector<Slot> pipedream(const Pipeline&);

/// 1F1B or interleaved with the passes of a vocabulary that is cut over all stages: each is run by every stage as soon
/// as it can be, in one order on all of them. As many microbatches more are held as there are barriers. Yeung et al.,
/// arXiv 2411.05288, sections 4 and 5. Orders of all stages. REQUIRES: schedule is one of the two.
std::vector<std::vector<Slot>> with_vocabulary(spec::Schedule, const Pipeline&, const VocabularyPasses&);

/// Of every stage. `pipeline.stage` is not read.
std::vector<std::vector<Slot>> orders(spec::Schedule, const Pipeline&);

}  // namespace plan
