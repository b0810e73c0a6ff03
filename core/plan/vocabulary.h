// core/plan/vocabulary.h -- embedding and output head cut over the stages of a pipeline (Yeung et al., arXiv
// 2411.05288): every stage holds as many rows of both, and runs passes of its own for them between those of its layers.
//
// look up          each stage the rows it has of a microbatch's tokens; their sum goes to the first stage.
// logits           the normed states of the last stage go to all; each computes its logits and their statistics (online
//                  softmax), which are joined: the first barrier.
// logits gradient  with the joined statistics, of weights and of the states, whose sum goes to the last stage: the
//                  second barrier. With one barrier the states' gradient is computed with the stage's own statistics in
//                  the pass before, joined and corrected together with them, and only the weights' is left here.
// rows gradient    the gradient of the looked-up rows goes from the first stage to all.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/plan/builder.h"
#include "core/plan/context.h"
#include "core/plan/schedule/schedule.h"

namespace plan {

/// Of its first and of its last microbatch a stage does more: the parameters are gathered, or the gradients reduced.
struct VocabularyCall {
  Pass pass = Pass::look_up;
  bool gathers = false, reduces = false;
  bool odd = false;  // of the microbatch
  auto operator<=>(const VocabularyCall&) const = default;
};

/// One of the passes on one stage. REQUIRES: c.spread_vocab; the pass is of_vocabulary().
Segment vocabulary_segment(const Context& c, Pool& pool, int stage, const VocabularyCall&);

/// What the chunks with the model's ends wait for, in front of what comes next: the looked-up rows, the gradient of the
/// last layer's normed output. Without effect unless c.spread_vocab.
void await_rows(const Context&, SegmentBuilder&, bool first);
void await_states_gradient(const Context&, SegmentBuilder&, bool odd);
/// The first chunk's gradient stays until its rows gradient has been sent.
void hold_rows_gradient(const Context&, SegmentBuilder&, bool odd);

/// What its passes cost in units of one chunk's forward, from FLOPs.
VocabularyPasses vocabulary_passes(const Context&);

}  // namespace plan
