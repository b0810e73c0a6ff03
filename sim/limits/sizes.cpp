// SPDX-License-Identifier: Apache-2.0
#include "sim/limits/sizes.h"

#include <numeric>

namespace sim {
namespace {

// Far beyond what any machine holds; a row has an end so that a job without activations ends, too.
constexpr std::int64_t kLongest = std::int64_t{1} << 27, kLargestBatch = 1 << 16, kDeepest = 1 << 14, kWidest = 1 << 14;

Size refused(std::string name, std::string why) {
  Size out;
  out.name = std::move(name);
  out.refusal = std::move(why);
  return out;
}

/// Where a decode step's context is given it is what holds the memory, not the sequence.
Size sequence(const spec::Job& job) {
  if (job.model.is_list()) return refused("sequence", "the network has no tokens");
  const bool of_context = job.training.context.has_value();
  const std::int64_t ranks = std::int64_t{2} * job.strategy.cp * job.strategy.tp;
  const std::int64_t step = std::lcm(std::int64_t{256}, ranks);
  Size out{.name = of_context ? "context" : "sequence",
           .unit = "tokens",
           .given = job.training.sequence,
           .row = {},
           .settings = {},
           .refusal = {}};
  if (of_context) out.given = *job.training.context;
  out.row = {step, step, kLongest};
  out.settings = [path = "training." + out.name](std::int64_t tokens) {
    return Settings{{path, std::to_string(tokens)}};
  };
  return out;
}

Size micro_batch(const spec::Job& job) {
  const std::int64_t each = job.training.global_batch / job.training.micro_batch;
  Size out{.name = "micro_batch",
           .unit = job.model.is_list() ? "samples" : "sequences",
           .given = job.training.micro_batch,
           .row = {},
           .settings = {},
           .refusal = {}};
  out.row = {1, 1, kLargestBatch};
  out.settings = [each](std::int64_t sequences) {
    return Settings{{"training.micro_batch", std::to_string(sequences)},
                    {"training.global_batch", std::to_string(sequences * each)}};
  };
  return out;
}

Size layers(const spec::Job& job) {
  if (job.model.is_list()) return refused("layers", "the network is a list of operators");
  if (!job.strategy.stage_layers.empty()) return refused("layers", "stage_layers says how many each stage has");
  const std::int64_t step = job.strategy.model_chunks() * (job.model.moe ? job.model.moe->every : 1);
  Size out{.name = "layers", .unit = "layers", .given = job.model.layers, .row = {}, .settings = {}, .refusal = {}};
  const std::int64_t fewest = (job.model.layers - 1) % step + 1;
  out.row = {fewest, step, kDeepest};
  out.settings = [](std::int64_t count) { return Settings{{"model.layers", std::to_string(count)}}; };
  return out;
}

/// The same shape with `kv_heads` key/value heads.
Settings widened(const spec::Model& model, int tp, std::int64_t kv_heads) {
  const std::int64_t heads = kv_heads * (model.heads / model.kv_heads);
  const std::int64_t unit = std::int64_t{64} * tp;
  const std::int64_t ffn = model.ffn * heads / model.heads;
  const bool is_whole = kv_heads == model.kv_heads;
  return {{"model.kv_heads", std::to_string(kv_heads)},
          {"model.heads", std::to_string(heads)},
          {"model.head_dim", std::to_string(model.head_dim)},
          {"model.hidden", std::to_string(model.hidden * heads / model.heads)},
          {"model.ffn", std::to_string(is_whole ? ffn : std::max(unit, ffn / unit * unit))}};
}

Size width(const spec::Job& job) {
  const spec::Model& model = job.model;
  const char name[] = "width";
  if (model.is_list()) return refused(name, "the network is a list of operators");
  if (model.moe) return refused(name, "a model with experts has several widths");
  if (model.mla) return refused(name, "latent attention has widths of its own");
  if (model.hidden % model.heads != 0) return refused(name, "heads do not divide the hidden size");
  const int tp = job.strategy.tp * (job.strategy.trades_heads() ? job.strategy.cp : 1);
  if (model.kv_heads % tp != 0) return refused(name, "tensor parallel ranks share key/value heads");
  Size out{.name = name, .unit = "hidden", .given = model.hidden, .row = {}, .settings = {}, .refusal = {}};
  const std::int64_t head = model.hidden / model.kv_heads;  // hidden columns to one key/value head
  out.row = {tp * head, tp * head, kWidest * head};
  out.settings = [model, tp, head](std::int64_t hidden) { return widened(model, tp, hidden / head); };
  return out;
}

}  // namespace

std::vector<Size> sizes_of(const spec::Job& job) { return {sequence(job), micro_batch(job), layers(job), width(job)}; }

}  // namespace sim
