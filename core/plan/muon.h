// core/plan/muon.h -- Muon: the matrices of blocks keep one momentum, and their update is made orthogonal by five
// Newton-Schulz iterations in bf16, three products each; everything else (embedding, head, norms, biases) has AdamW. A
// tensor-parallel rank takes its own shard for a matrix (Megatron Core's --muon-tp-mode blockwise, its default), q, k
// and v apart. Under zero 1 whole matrices are dealt to the ranks that share a copy, largest first, and the rank with
// most sets the pace; gradients are all-reduced, since a matrix is not cut (dist_muon, Megatron Core 0.16, 2026).
// Sources: Jordan, Muon (2024); Liu et al., Muon is Scalable for LLM Training, arXiv 2502.16982.
// Leaves out: single matrices that do not fill a GPU, which are priced as a batch, and kernels that use that X X^T is
// symmetric. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "core/plan/builder.h"
#include "core/plan/context.h"
#include "core/plan/shares.h"

namespace plan {

bool by_muon(const Context&);

/// Matrices that are alike, of one rank of a stage.
struct Matrices {
  std::int64_t rows = 0, columns = 0, count = 0;
  bool experts = false;  // shared by the ranks along Axis::expert_dp instead of those along Axis::dp
  bool table = false;    // embedding or head, which AdamW updates
  std::int64_t shorter() const { return rows < columns ? rows : columns; }
  std::int64_t longer() const { return rows < columns ? columns : rows; }
  std::int64_t parameters() const { return rows * columns * count; }
  bool operator==(const Matrices&) const = default;
};
/// All of a stage's.
std::vector<Matrices> matrices_of(const Context&, const std::vector<Chunk>&);
/// Those of them that the rank with most updates.
std::vector<Matrices> owned_matrices(const Context&, const std::vector<Chunk>&);

/// Parameters of a stage that have a second moment: those that are in no matrix.
Held with_second_moments(const Context&, const std::vector<Chunk>&);

/// Bytes of moments and master weights. Under zero 1 those of the rank with most: embedding and head, too, are dealt
/// whole (Megatron Core's LayerWiseDistributedOptimizer, 2026), norms and biases evenly.
std::int64_t states_by_muon(const Context&, const std::vector<Chunk>&);

/// Momentum, iterations and the update of all that a rank owns of a stage.
void update_by_muon(const Context&, SegmentBuilder&, const std::vector<Chunk>&);

}  // namespace plan
