// core/spec/training.h -- what one step computes.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>

#include "core/spec/dtype.h"
#include "core/spec/names.h"
#include "core/spec/packing.h"
#include "core/spec/storage.h"

namespace spec {

enum class Mode { train, prefill, decode };
template <>
inline constexpr auto kNamesOf<Mode> = spelt("train", "prefill", "decode");

enum class Optimizer { adamw, sgd, adamw8bit, muon };
template <>
inline constexpr auto kNamesOf<Optimizer> = spelt("adamw", "sgd", "adamw8bit", "muon");

/// How many numbers share a scale in fp8: a tensor (its largest now, or of the step before), a row, a block.
enum class Fp8Recipe { tensorwise, rowwise, blockwise, delayed };
template <>
inline constexpr auto kNamesOf<Fp8Recipe> = spelt("tensorwise", "rowwise", "blockwise", "delayed");

/// How an indexer (Indexer) learns in a step: not at all, or by the divergence of its scores from those of attention,
/// over the keys that it chose (DeepSeek-V3.2, arXiv 2512.02556, equation 4).
enum class IndexerLoss { none, sparse };
template <>
inline constexpr auto kNamesOf<IndexerLoss> = spelt("none", "sparse");

/// Layers at the begin and at the end of the model whose matmuls stay in 16 bits.
struct WideLayers {
  int first = 0, last = 0;
};

struct Training {
  Mode mode = Mode::train;
  std::int64_t sequence = 0;      // tokens
  std::int64_t global_batch = 0;  // sequences
  std::int64_t micro_batch = 1;   // sequences in one forward of one replica
  Dtype precision = Dtype::bf16;
  std::optional<Fp8Recipe> fp8_recipe;  // under fp8 alone; default: the framework's
  WideLayers wide_layers;               // under fp8, mxfp8, nvfp4
  std::optional<bool> fp8_parameters;   // weights of narrow layers exist in fp8 alone, beside the master copy
  std::optional<bool> autocast;         // torch.autocast: weights in fp32, cast in each pass; default: the framework's
  Optimizer optimizer = Optimizer::adamw;
  bool fp8_attention = false;           // its matmuls in fp8, in those layers whose others are narrow
  bool fp8_activation_inputs = false;   // a gated activation's input waits for its backward in fp8
  std::optional<Dtype> moments_dtype;   // of AdamW's two moments, of SGD's and Muon's momentum; default fp32
  std::optional<bool> master_weights;   // fp32 copies in the optimizer; default: when precision is below fp32
  std::optional<Dtype> gradient_dtype;  // of the main gradient buffer and its reduction; default fp32
  std::optional<double> dropout;        // share of activations; default: see fill_dropout
  IndexerLoss indexer_loss = IndexerLoss::none;
  std::optional<Packing> packing;  // documents that share a sequence
  std::optional<InputData> data;
  std::optional<Checkpoint> checkpoint;
  std::int64_t output_tokens = 1;       // prefill, decode: tokens generated behind each prompt of `sequence` tokens
  std::optional<std::int64_t> context;  // decode: tokens that the new one attends to, itself included
  std::optional<Dtype> kv_cache_dtype;  // prefill, decode; default: the dtype of activations

  /// The KV cache as long as the decode step shown sees it: where half of the output is there, unless the job says.
  std::int64_t attended() const { return context.value_or(sequence + (output_tokens + 1) / 2); }
  /// Tokens of each sequence that the KV cache has room for.
  std::int64_t cached() const { return std::max(attended(), sequence + output_tokens); }
  bool serves() const { return mode != Mode::train; }
  bool drops() const { return dropout.value_or(0) > 0; }

  bool keeps_master() const { return master_weights.value_or(bytes_of(storage(precision)) < 4); }
  Dtype gradients() const { return gradient_dtype.value_or(Dtype::fp32); }
  Dtype moments() const { return moments_dtype.value_or(Dtype::fp32); }
};

}  // namespace spec
