// core/plan/activation_offload.h -- activations that wait for their backward in the host's memory.
//
// What a layer keeps is copied out behind its forward and comes back one layer ahead of its backward, each on a copy
// engine beside compute. Two layers have room on the device: the one that computes and the one that is copied, so a
// layer starts when the copy of the last but one has ended. The model's very last layer stays, for its backward is
// next. Source: Transformer Engine's cpu_offload and torchtune's activation offloading, which keep the last layer and
// double their buffers (2024). SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "core/plan/builder.h"
#include "core/plan/context.h"
#include "core/plan/shares.h"

namespace plan {

/// Around the layers of a chunk's forward. Without effect unless activations are offloaded.
class ForwardOffload {
 public:
  ForwardOffload(const Context& c, SegmentBuilder& out, const Chunk& chunk) : c_(c), out_(out), chunk_(chunk) {}
  void enter(int layer_of_chunk);
  void leave(int layer_of_chunk);
  void finish();  // what the last layers left is given back

 private:
  const Context& c_;
  SegmentBuilder& out_;
  const Chunk& chunk_;
};

/// Around the layers of a chunk's backward, last layer first.
class BackwardOffload {
 public:
  BackwardOffload(const Context&, SegmentBuilder&, const Chunk&);
  void enter(int layer_of_chunk);

 private:
  void fetch(int layer_of_chunk, bool behind_compute);
  const Context& c_;
  SegmentBuilder& out_;
  const Chunk& chunk_;
  int top_;  // the first to come back
};

}  // namespace plan
