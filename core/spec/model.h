// core/spec/model.h -- a transformer's shape. Plain values; nothing of how it is trained or where.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/spec/layer_list.h"
#include "core/spec/names.h"

namespace spec {

/// clamped_swiglu: gpt-oss' gate min(x, 7) sigmoid(1.702 x), times the other half, within 7 of zero, plus one.
enum class Activation { gelu, relu, squared_relu, swiglu, geglu, clamped_swiglu };
template <>
inline constexpr auto kNamesOf<Activation> = spelt("gelu", "relu", "squared_relu", "swiglu", "geglu", "clamped_swiglu");
inline bool gates(Activation a) {
  return a == Activation::swiglu || a == Activation::geglu || a == Activation::clamped_swiglu;
}

enum class Norm { layernorm, rmsnorm };
template <>
inline constexpr auto kNamesOf<Norm> = spelt("layernorm", "rmsnorm");

enum class Position { rope, learned, alibi, none };
template <>
inline constexpr auto kNamesOf<Position> = spelt("rope", "learned", "alibi", "none");

/// What a norm of queries and keys scales by: numbers of one head (Qwen3), of all heads together (OLMo 2), nothing
/// (Llama 4).
enum class QkScale { head, width, none };

/// Mixture of experts: `experts` feed-forward blocks of which a token visits `top_k`.
struct Moe {
  int experts = 0, top_k = 0;
  std::int64_t ffn = 0;         // inner width of one expert
  int shared_experts = 0;       // visited by every token
  std::int64_t shared_ffn = 0;  // inner width of the shared ones together
  int first_dense = 0;          // the first layers that keep a dense feed-forward
  int every = 1;                // every n-th layer has experts: the n-th, the 2n-th ...
  // A token's experts lie in top_groups of so many equal groups (DeepSeek-V2, arXiv 2405.04434, section 2.2.2): ranks
  // or nodes, so that it visits few of them. 1 of 1: anywhere.
  int groups = 1, top_groups = 1;
  // Routed experts read and write vectors of this width, which two projections that all share make of a token and bring
  // back (Megatron-LM's --moe-latent-size, Nemotron 3 Super); 0: the model's own.
  std::int64_t latent = 0;
  bool shared_gate = false;  // a token's own scale of what the shared experts give (Qwen3-Next)
  bool router_bias = false;  // one number an expert beside the router (DeepSeek-V3's balancing bias, gpt-oss)
  bool in_layer(int layer) const { return layer >= first_dense && (layer + 1) % every == 0; }  // layers count from 0
  auto operator<=>(const Moe&) const = default;
};

/// Multi-head latent attention (DeepSeek-V2, arXiv 2405.04434): ranks of the compressed queries and keys/values.
/// q_lora_rank 0: the queries are not compressed (DeepSeek-V2-Lite).
struct Mla {
  int q_lora_rank = 0, kv_lora_rank = 0, rope_head_dim = 0, nope_head_dim = 0, value_head_dim = 0;
  auto operator<=>(const Mla&) const = default;
};

/// The lightning indexer of DeepSeek Sparse Attention (DeepSeek-V3.2, arXiv 2512.02556, section 2.1): narrow heads of
/// its own, which share one key a token, score every key before a query; the query attends to the top_k best alone.
struct Indexer {
  int heads = 0, head_dim = 0;
  std::int64_t top_k = 0;  // keys that are left to a query
  int first = 1;           // layers in front that have one each
  int every = 1;           // behind them every n-th; the others take over the choice of the one before (GLM-5.2)
  bool in_layer(int layer) const { return layer < first || (layer - first + 1) % every == 0; }  // from 0
  bool shares() const { return every > 1; }
  auto operator<=>(const Indexer&) const = default;
};

/// A state of `state` x `head_dim` numbers a head that a layer carries along the sequence, in place of attention.
/// mamba2: Dao and Gu, arXiv 2405.21060; gated_delta: Yang et al., arXiv 2412.06464. What enters is projected at once
/// to values, a gate as wide, keys and queries (B and C), which groups of heads share, and each head's step sizes; a
/// convolution along the sequence goes over all but gate and steps.
struct Recurrent {
  enum class Kind { mamba2, gated_delta };
  Kind kind = Kind::mamba2;
  int heads = 0, head_dim = 0;  // of values
  int groups = 1;               // heads of keys and queries
  int state = 0;                // width of one of these
  int conv = 4;                 // taps of the convolution
  int chunk = 0;                // tokens that the kernels take at once
  int attention_every = 0;      // every n-th layer, the n-th, the 2n-th ..., attends instead; 0: none does
  auto operator<=>(const Recurrent&) const = default;

  /// A head's numbers beside the vectors: its step (mamba2); its decay and the strength of its update (gated_delta).
  int steps() const { return kind == Kind::mamba2 ? 1 : 2; }
  std::int64_t value_width() const { return std::int64_t{heads} * head_dim; }
  std::int64_t key_width() const { return std::int64_t{groups} * state; }
  std::int64_t conv_width() const { return value_width() + 2 * key_width(); }
  std::int64_t in_width() const { return conv_width() + value_width() + std::int64_t{steps()} * heads; }
};
/// Tokens that the usual kernels take at once: Megatron's MambaMixer; flash-linear-attention.
inline int usual_chunk(Recurrent::Kind kind) { return kind == Recurrent::Kind::mamba2 ? 128 : 64; }
template <>
inline constexpr auto kNamesOf<Recurrent::Kind> = spelt("mamba2", "gated_delta");

/// What a layer does to mix tokens with each other, and what for each token alone. A layer without one of them has one
/// norm and one residual addition.
enum class Mixer { attention, recurrent, none };
enum class FeedForward { dense, experts, none };
struct LayerParts {
  Mixer mixer = Mixer::attention;
  FeedForward feed_forward = FeedForward::dense;
  bool indexes = false;  // chooses keys for its attention, and for that of layers behind it that do not (Indexer)
  bool attends() const { return mixer == Mixer::attention; }
  bool recurs() const { return mixer == Mixer::recurrent; }
  bool has_experts() const { return feed_forward == FeedForward::experts; }
  bool has_dense() const { return feed_forward == FeedForward::dense; }
  int branches() const { return (mixer != Mixer::none ? 1 : 0) + (feed_forward != FeedForward::none ? 1 : 0); }
  auto operator<=>(const LayerParts&) const = default;
};

struct Model {
  std::string name;
  int layers = 0;
  std::int64_t hidden = 0;
  int heads = 0, kv_heads = 0;  // kv_heads < heads is grouped-query attention
  int head_dim = 0;             // defaults to hidden / heads
  std::int64_t ffn = 0;         // inner width of the feed-forward
  bool gated_mlp = false;       // two up-projections, one gating the other
  Activation activation = Activation::gelu;
  std::int64_t vocab = 0;        // rows of the embedding, padding included
  bool tied_embeddings = false;  // the head reuses the embedding's weight
  Norm norm = Norm::layernorm;
  Position position = Position::rope;
  double rope_scale = 1;           // factor of sines and cosines: YaRN's concentration, 0.1 ln(scaling) + 1 (gpt-oss)
  std::int64_t max_positions = 0;  // rows of a learned position table; 0: not stated
  bool bias = false;               // on every linear layer of a block
  std::optional<bool> qkv_bias;    // defaults to bias
  std::optional<bool> proj_bias;   // attention output; defaults to bias
  bool head_bias = false;          // on the output head (Phi-2)
  bool norm_bias = true;           // layernorms have one; false: scale only (MPT). An rmsnorm never has one
  bool embedding_norm = false;     // a norm right after the embedding (BLOOM)
  bool post_norms = false;         // a second norm behind attention and feed-forward (Gemma 2)
  bool causal = true;
  bool parallel_block = false;  // attention and feed-forward read the same input (GPT-NeoX, Phi-2)
  int norms_in_parallel = 2;    // norms a parallel block has: 2 (GPT-NeoX), 1 (Phi-2, GPT-J)
  bool qk_norm = false;         // a norm over queries and keys
  QkScale qk_scale = QkScale::head;
  std::int64_t window = 0;           // sliding window in tokens; 0: full attention
  int window_every = 1;              // every n-th layer has the window, beginning with the first (Gemma 2, gpt-oss)
  std::int64_t attention_chunk = 0;  // a token sees its own chunk of so many tokens alone (Llama 4); 0: no chunks
  int full_every = 0;  // every n-th layer, the n-th, the 2n-th ..., has neither window nor chunks (Gemma 3)
  int nope_every = 0;  // likewise without rotary embedding (Llama 4, SmolLM3); 0: none is
  bool attention_gate =
      false;  // queries come with a gate as wide, whose sigmoid scales attention's output (Qwen3-Next)
  bool attention_sinks = false;  // a learned logit for each head beside the softmax (gpt-oss)
  int mtp = 0;                   // multi-token-prediction layers
  std::optional<Moe> moe;
  std::optional<Mla> mla;
  std::optional<Indexer> indexer;
  std::optional<Recurrent> recurrent;
  std::string pattern;        // a letter for each layer, of kPatternLetters; empty: all have a mixer and a feed-forward
  std::string mtp_pattern;    // likewise for the layers of each module of mtp; empty: one layer like the model's last
  bool mtp_repeated = false;  // the modules are one, run mtp times (Megatron-LM's --mtp-use-repeated-layer)
  std::string kind = "transformer";  // "layers": a list of operators (convolutional networks)
  std::vector<Layer> list;           // of `kind: layers`; the fields above are then left as they are
  bool operator==(const Model&) const = default;

  static constexpr std::string_view kPatternLetters =
      "MG*-E";  // as Megatron-LM: mamba2, gated_delta, attention, dense feed-forward, experts

  bool is_list() const { return kind == "layers"; }
  static LayerParts parts_of(char letter) {
    switch (letter) {
      case 'M':
      case 'G': return {.mixer = Mixer::recurrent, .feed_forward = FeedForward::none};
      case '*': return {.mixer = Mixer::attention, .feed_forward = FeedForward::none};
      case '-': return {.mixer = Mixer::none, .feed_forward = FeedForward::dense};
      default: return {.mixer = Mixer::none, .feed_forward = FeedForward::experts};
    }
  }
  /// Of the weights of modules of multi-token prediction.
  int module_copies() const { return mtp_repeated && mtp > 0 ? 1 : mtp; }
  /// Layers of one such module, and the number that its `block`-th has, from 0: with mtp_pattern they are counted on
  /// behind the model's own, without it each is the last once more.
  int module_layers() const { return mtp_pattern.empty() ? 1 : static_cast<int>(mtp_pattern.size()); }
  int module_layer(int block) const { return mtp_pattern.empty() ? layers - 1 : layers + block; }
  /// `layer`: of the model, or of a module by module_layer. REQUIRES: letters are of kPatternLetters.
  LayerParts parts_in(int layer) const {
    if (layer >= layers && !mtp_pattern.empty()) return parts_of(mtp_pattern[static_cast<std::size_t>(layer - layers)]);
    if (!pattern.empty()) return parts_of(pattern[static_cast<std::size_t>(layer)]);
    const bool attends =
        !recurrent || (recurrent->attention_every > 0 && (layer + 1) % recurrent->attention_every == 0);
    return {attends ? Mixer::attention : Mixer::recurrent,
            moe && moe->in_layer(layer) ? FeedForward::experts : FeedForward::dense,
            attends && indexer && indexer->in_layer(layer)};
  }
  /// Of a module of multi-token prediction: its attention chooses its own keys (GLM-5.2).
  LayerParts module_parts_in(int layer) const {
    LayerParts parts = parts_in(layer);
    parts.indexes = parts.attends() && indexer.has_value();
    return parts;
  }
  LayerParts module_parts(int block) const { return module_parts_in(module_layer(block)); }
  bool experts_in(int layer) const { return parts_in(layer).has_experts(); }
  /// Layers whose parts `that` likes; those of multi-token prediction not counted.
  template <class That>
  int count_layers(That that) const {
    int out = 0;
    for (int layer = 0; layer < layers; ++layer) out += that(parts_in(layer)) ? 1 : 0;
    return out;
  }
  bool has_qkv_bias() const { return qkv_bias.value_or(bias); }
  bool has_proj_bias() const { return proj_bias.value_or(bias); }
  /// Width of one head's queries and keys, and of its values: latent attention has widths of its own.
  int query_head_dim() const { return mla ? mla->nope_head_dim + mla->rope_head_dim : head_dim; }
  int value_head_dim() const { return mla ? mla->value_head_dim : head_dim; }
  std::int64_t q_width() const { return std::int64_t{heads} * query_head_dim(); }
  /// Of the queries' projection.
  std::int64_t gated_q_width() const { return attention_gate ? 2 * q_width() : q_width(); }
  std::int64_t kv_width() const { return std::int64_t{kv_heads} * query_head_dim(); }
  /// Of what routed experts read and write. REQUIRES: moe.
  std::int64_t expert_width() const { return moe->latent > 0 ? moe->latent : hidden; }
  /// Width of the first feed-forward matmul: twice ffn when gated.
  std::int64_t up_width() const { return gated_mlp ? 2 * ffn : ffn; }
  /// Whether a query of this layer (from 0) sees a window or its chunk alone.
  bool limited_in(int layer) const {
    if (window == 0 && attention_chunk == 0) return false;
    return full_every > 0 ? (layer + 1) % full_every != 0 : layer % window_every == 0;
  }
  /// Tokens that a query of this layer sees; 0: all.
  std::int64_t window_of(int layer) const { return limited_in(layer) ? window : 0; }
  std::int64_t chunk_of(int layer) const { return limited_in(layer) ? attention_chunk : 0; }
  bool ropes() const { return position == Position::rope; }
  bool has_position_table() const { return position == Position::learned; }
  bool ropes_in(int layer) const { return ropes() && (nope_every == 0 || (layer + 1) % nope_every != 0); }
};

}  // namespace spec
