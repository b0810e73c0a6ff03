// SPDX-License-Identifier: Apache-2.0
#include "core/config/training_reader.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/config/other_key_names.h"
#include "core/spec/ranges.h"

namespace config {
namespace {

using spec::Dtype;

/// {mean: 2048, deviation: 1024} or {lengths: [4096, 1024]}, in tokens
spec::Packing read_packing(const Value& value, const std::string& path, Faults& faults) {
  spec::Packing packing;
  MapReader map(value, path, faults, "packing: {mean: 2048}, or packing: {lengths: [4096, 1024]}");
  std::vector<int> lengths;
  const bool listed = map.has("lengths");  // well written or not
  map.read("lengths", lengths, 1, spec::kMostTokens);
  packing.lengths.assign(lengths.begin(), lengths.end());
  if (!listed) {
    map.require("mean", packing.mean, 1, spec::kMostTokens);
  } else if (map.read("mean", packing.mean, 1, spec::kMostTokens)) {
    map.fault("mean", "stands beside lengths, which tell it", "leave one of the two out");
  }
  if (map.read("deviation", packing.deviation, 0, spec::kMostTokens) && listed) {
    map.fault("deviation", "belongs to mean", "leave it out, or write mean in place of lengths");
  }
  map.finish();
  return packing;
}

spec::InputData read_data(const Value& value, const std::string& path, Faults& faults) {
  spec::InputData data;
  MapReader map(value, path, faults, "data: {bytes_per_token: 4B, bandwidth: 2GB/s}");
  base::Bytes bytes;
  if (map.read("bytes_per_token", bytes)) data.bytes_per_token = bytes;
  if (map.read("bytes_per_sample", bytes)) data.bytes_per_sample = bytes;
  map.require("bandwidth", data.bandwidth);
  map.read("prefetch", data.prefetch);
  map.finish();
  return data;
}

spec::Checkpoint read_checkpoint(const Value& value, const std::string& path, Faults& faults) {
  spec::Checkpoint checkpoint;
  MapReader map(value, path, faults, "checkpoint: {every: 100}");
  map.require("every", checkpoint.every, 1, 1'000'000'000);
  map.read("to", checkpoint.shared, {{"nvme", false}, {"shared", true}});
  base::ByteRate bandwidth;
  if (map.read("bandwidth", bandwidth)) checkpoint.bandwidth = bandwidth;
  map.read("async", checkpoint.async);
  map.finish();
  return checkpoint;
}

spec::WideLayers read_wide_layers(const Value& value, const std::string& path, Faults& faults) {
  spec::WideLayers wide;
  MapReader map(value, path, faults, "wide_layers: {first: 1, last: 1}");
  map.read("first", wide.first, 0, 1'000'000);
  map.read("last", wide.last, 0, 1'000'000);
  map.finish();
  return wide;
}

/// How long a step is and of what.
void read_batch(MapReader& map, bool has_tokens, spec::Training& t) {
  map.read("mode", t.mode);
  if (has_tokens) {
    map.require("sequence", t.sequence, 1, spec::kMostTokens);
  } else {
    map.read("sequence", t.sequence, 1, spec::kMostTokens);
  }
  map.require("global_batch", t.global_batch, 1, spec::kMostSequences);
  map.read("micro_batch", t.micro_batch, 1, spec::kMostSequences);
}

/// Formats of what is multiplied and of what is kept.
void read_formats(MapReader& map, spec::Training& t) {
  const std::initializer_list<std::pair<std::string_view, Dtype>> states{
      {"fp32", Dtype::fp32}, {"bf16", Dtype::bf16}, {"fp16", Dtype::fp16}};
  map.read("precision", t.precision);
  map.read("fp8_recipe", t.fp8_recipe);
  map.part_or_none("wide_layers", t.wide_layers, read_wide_layers);
  map.read("fp8_parameters", t.fp8_parameters);
  map.read("fp8_attention", t.fp8_attention);
  map.read("fp8_activation_inputs", t.fp8_activation_inputs);
  map.read("optimizer", t.optimizer);
  map.read("moments_dtype", t.moments_dtype, states);
  map.read("autocast", t.autocast);
  map.read("master_weights", t.master_weights);
  map.read("gradient_dtype", t.gradient_dtype, states);
}

void read_dropout(MapReader& map, spec::Training& t) {
  double dropout = 0;
  if (!map.read("dropout", dropout, 0, 1)) return;
  if (dropout == 1) map.fault("dropout", "1 drops everything", "write a number from 0 to below 1");
  t.dropout = dropout;
}

/// Prefill and decode.
void read_serving(MapReader& map, spec::Training& t) {
  map.read("output_tokens", t.output_tokens, 1, spec::kMostTokens);
  std::int64_t context = 0;
  if (map.read("context", context, 1, spec::kMostTokens)) t.context = context;
  map.read("kv_cache_dtype", t.kv_cache_dtype,
           {{"fp32", Dtype::fp32}, {"bf16", Dtype::bf16}, {"fp16", Dtype::fp16}, {"fp8", Dtype::fp8}});
}

}  // namespace

spec::Training read_training(const Value& value, bool has_tokens, Faults& faults) {
  spec::Training t;
  MapReader map(value, "training", faults, "training: {sequence: 8192, global_batch: 128}, for example");
  read_batch(map, has_tokens, t);
  read_formats(map, t);
  map.part("packing", t.packing, read_packing);
  read_dropout(map, t);
  map.read("indexer_loss", t.indexer_loss);
  map.part("data", t.data, read_data);
  map.part("checkpoint", t.checkpoint, read_checkpoint);
  read_serving(map, t);
  map.finish(job_key_elsewhere_called);
  return t;
}

}  // namespace config
