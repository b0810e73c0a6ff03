// tests/real/executor/tiny.h -- models small enough to be trained in double in milliseconds, and what a run of them
// leaves: losses, and the gradients of the whole model put together from all ranks.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/plan/build.h"
#include "real/cpu/train.h"
#include "tests/support/toy.h"

namespace tiny {

/// RMSNorm, rotary embedding, SwiGLU, two query heads to each key head, an output head of its own.
inline spec::Model llama(int layers = 2) {
  spec::Model m;
  m.name = "tiny llama";
  m.layers = layers;
  m.hidden = 16;
  m.heads = 4;
  m.kv_heads = 2;
  m.head_dim = 4;
  m.ffn = 24;
  m.gated_mlp = true;
  m.activation = spec::Activation::swiglu;
  m.vocab = 32;
  m.norm = spec::Norm::rmsnorm;
  m.position = spec::Position::rope;
  m.max_positions = 16;
  return m;
}

/// LayerNorm, learned positions, GELU, biases, the embedding's table as output head.
inline spec::Model gpt(int layers = 2) {
  spec::Model m = llama(layers);
  m.name = "tiny gpt";
  m.kv_heads = 4;
  m.ffn = 32;
  m.gated_mlp = false;
  m.activation = spec::Activation::gelu;
  m.norm = spec::Norm::layernorm;
  m.position = spec::Position::learned;
  m.bias = true;
  m.tied_embeddings = true;
  return m;
}

/// The Llama with norms of its query and key heads.
inline spec::Model qk_norm(int layers = 2) {
  spec::Model m = llama(layers);
  m.name = "tiny qk norm";
  m.qk_norm = true;
  return m;
}

/// Attention and feed-forward side by side behind one norm (GPT-J, Falcon) or one each (GPT-NeoX), and one key head.
inline spec::Model parallel(int norms, int layers = 2) {
  spec::Model m = gpt(layers);
  m.name = norms == 1 ? "tiny parallel block" : "tiny parallel block of two norms";
  m.kv_heads = 1;
  m.position = spec::Position::rope;
  m.parallel_block = true;
  m.norms_in_parallel = norms;
  return m;
}

/// The Llama with latent attention: heads of 6 for queries and keys, of 5 for values; with and without narrow queries.
inline spec::Model latent(int query_rank = 12, int layers = 2) {
  spec::Model m = llama(layers);
  m.name = query_rank > 0 ? "tiny latent" : "tiny latent with wide queries";
  m.kv_heads = 4;
  m.mla = {.q_lora_rank = query_rank, .kv_lora_rank = 8, .rope_head_dim = 2, .nope_head_dim = 4, .value_head_dim = 5};
  return m;
}

/// The Llama with 4 experts in every second layer, of which a token visits 2, and one that all visit.
inline spec::Model moe(int layers = 2) {
  spec::Model m = llama(layers);
  m.name = "tiny moe";
  spec::Moe experts;
  experts.experts = 4;
  experts.top_k = 2;
  experts.ffn = 12;
  experts.shared_experts = 1;
  experts.shared_ffn = 8;
  experts.every = 2;
  m.moe = experts;
  return m;
}

/// The mixture whose router has a bias.
inline spec::Model router_bias(int layers = 2) {
  spec::Model m = moe(layers);
  m.name = "tiny router bias";
  m.moe->router_bias = true;
  return m;
}

/// The Llama with a learned logit for each head beside the softmax, and a window in its first layer, as gpt-oss.
inline spec::Model sinks(int layers = 2) {
  spec::Model m = llama(layers);
  m.name = "tiny sinks";
  m.attention_sinks = true;
  m.window = 3;
  m.window_every = 2;
  return m;
}

/// The GPT with linear biases in the place of positions, on 4 heads or 6.
inline spec::Model alibi(int heads = 4, int layers = 2) {
  spec::Model m = gpt(layers);
  m.name = "tiny alibi of " + std::to_string(heads);
  m.heads = m.kv_heads = heads;
  m.position = spec::Position::alibi;
  return m;
}

/// With `modules` of multi-token prediction behind the last layer.
inline spec::Model ahead(spec::Model m, int modules) {
  m.name += " ahead by " + std::to_string(modules);
  m.mtp = modules;
  return m;
}

/// So wide that every parameter, and its halves by rows, are whole blocks of 256 numbers, of which 8-bit moments share
/// a scale.
inline spec::Model wide(spec::Model m) {
  m.name += " in blocks";
  m.hidden = 512;
  return m;
}

/// Before resolve(): sequences of 8 tokens, `global_batch` of them.
inline spec::Job draft(const spec::Model& model, const toy::Cut& cut, std::int64_t global_batch = 8) {
  spec::Job job = toy::draft(cut);
  job.model = model;
  job.training.sequence = 8;
  job.training.global_batch = global_batch;
  return job;
}

using Key = std::pair<int, std::string>;  // layer, parameter

struct Run {
  std::vector<double> losses, norms;
  std::map<Key, std::vector<double>> gradients;  // of the last step, before they are clipped; whole matrices
  double copies_apart = 0;                       // largest difference between two ranks that hold the same number
};

/// Writes a rank's part of a gradient to its place in the whole one; returns how far it is from what is there.
inline double place(const real::Parameter& p, const std::vector<double>& owned, std::vector<double>& whole) {
  double apart = 0;  // of copies
  whole.resize(p.part.whole_rows * p.part.whole_columns, NAN);
  std::int64_t element = 0;
  for (const real::Range& rows : p.part.rows) {
    for (std::int64_t row = rows.begin; row < rows.begin + rows.length; ++row) {
      for (std::int64_t i = 0; i < p.part.columns.length; ++i, ++element) {
        const std::int64_t at = element - p.owned.begin;
        if (at < 0 || at >= p.owned.length) continue;
        double& to = whole[row * p.part.whole_columns + p.part.columns.begin + i];
        // Copies agree.
        if (!std::isnan(to)) apart = std::max(apart, std::abs(to - owned[at]));
        to = owned[at];
      }
    }
  }
  return apart;
}

inline real::Settings settings() {
  real::Settings settings;
  settings.optimizer.learning_rate = 0.02;
  settings.keeps_gradients = true;
  return settings;
}

inline real::Tokens tokens(const spec::Job& job) { return real::Tokens(job.model.vocab, 7); }

/// Of the parameters that an executor's rank holds.
inline void add_gradients(const real::Executor& executor, Run& out) {
  const real::RankState& state = executor.state();
  for (const real::Parameter& p : state.parameters.all()) {
    if (p.frozen) continue;
    std::vector<double>& whole = out.gradients[{p.layer, p.name}];
    out.copies_apart = std::max(out.copies_apart, place(p, state.kept_gradients.at({p.layer, p.name}), whole));
  }
}

/// REQUIRES: a Plan of the job, whole or with something taken out of it.
inline Run run(const spec::Job& job, const plan::Plan& plan, int steps = 2, double patience = 60) {
  const base::Seconds wait = base::s(patience);
  Run out;
  const auto visit = [&](const real::Executor& executor) { add_gradients(executor, out); };
  const real::Trained trained =
      real::train_on_cpu(job, plan, tokens(job), settings(), steps, {wait, wait, wait}, visit);
  out.losses = trained.losses;
  out.norms = trained.gradient_norms;
  return out;
}

inline double largest_copies_apart(const spec::Job& job, const plan::Plan& plan) {
  return run(job, plan, 1).copies_apart;
}

inline Run run(const spec::Job& job, int steps = 2) { return run(job, plan::build(job), steps); }

/// Largest difference between two runs, or between the copies of one, in losses, norms and gradients, over the largest
/// number of its kind.
inline double difference(const Run& a, const Run& b) {
  double worst = std::max(a.copies_apart, b.copies_apart);
  const auto compare = [&](const std::vector<double>& x, const std::vector<double>& y) {
    EXPECT_EQ(x.size(), y.size());
    double scale = 1e-30, most = 0;
    for (std::size_t i = 0; i < std::min(x.size(), y.size()); ++i) {
      scale = std::max(scale, std::abs(x[i]));
      const double apart = std::abs(x[i] - y[i]);
      most = std::isfinite(apart) ? std::max(most, apart) : INFINITY;
    }
    worst = std::max(worst, most / scale);
  };
  compare(a.losses, b.losses);
  if (!std::isnan(a.norms.front()) && !std::isnan(b.norms.front())) compare(a.norms, b.norms);
  EXPECT_EQ(a.gradients.size(), b.gradients.size());
  for (const auto& [key, values] : a.gradients) {
    const auto other = b.gradients.find(key);
    if (other == b.gradients.end()) {
      ADD_FAILURE() << "no gradient of " << key.second << " in layer " << key.first;
    } else {
      compare(values, other->second);
    }
  }
  return worst;
}

}  // namespace tiny
