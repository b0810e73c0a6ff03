// tests/sim/catalogue_test.cpp -- every model of the catalogue is predicted, on as many H100 as hold its states.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <filesystem>
#include <string>
#include <vector>

#include "core/config/catalogue.h"
#include "core/config/job_reader.h"
#include "core/config/model_reader.h"
#include "core/plan/flops.h"
#include "core/spec/parameters.h"
#include "sim/predict.h"

namespace {

std::vector<std::string> models() {
  std::vector<std::string> names;
  for (const auto& file : std::filesystem::directory_iterator(std::string(FORERUN_SOURCE_DIR) + "/workloads/models")) {
    names.push_back(file.path().stem().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

spec::Model model(const std::string& name) {
  config::Faults faults;
  const std::string path = std::string(FORERUN_SOURCE_DIR) + "/workloads/models/" + name + ".yaml";
  return config::read_model(config::load(path), "", faults);
}

/// Fully sharded, and experts spread over a node, or layers that alone are too wide for a GPU cut over it. 16 bytes a
/// parameter, of which a GPU takes 20 GB; nodes in powers of two, so that they divide the batch.
spec::Job job(const std::string& name) {
  const spec::Model m = model(name);
  const double states = m.is_list() ? 0 : 16.0 * static_cast<double>(spec::parameters(m).total());
  const unsigned nodes = std::bit_ceil(static_cast<unsigned>(states / (8 * 20e9)) + 1);
  const std::string within = m.moe ? ", ep: 8" : m.hidden > 16384 ? ", tp: 8, sp: true" : "";
  const std::string text = "model: " + name + "\ncluster: {node: dgx-h100, nodes: " + std::to_string(nodes) +
                           "}\ntraining: {sequence: 1024, micro_batch: 1, global_batch: " + std::to_string(8 * nodes) +
                           "}\nstrategy: {framework: torch, " + (m.is_list() ? "zero: 1" : "zero: 3, recompute: full") +
                           within + "}\n";
  return config::read_job(config::parse(text, "job.yaml"), config::Catalogue::find());
}

/// Read once for all tests.
const std::vector<spec::Job>& jobs() {
  static const std::vector<spec::Job> all = [] {
    std::vector<spec::Job> read;
    for (const std::string& name : models()) read.push_back(job(name));
    return read;
  }();
  return all;
}

/// Weights that a token meets in matmuls: of experts those that it visits.
double active(const spec::Model& m) {
  const spec::Parameters all = spec::parameters(m);
  const double visited = m.moe ? static_cast<double>(m.moe->top_k) / m.moe->experts : 0;
  const std::int64_t recurrent =
      m.recurrent ? m.count_layers([](spec::LayerParts parts) { return parts.recurs(); }) * spec::recurrent_weights(m)
                  : 0;
  return static_cast<double>(all.attention + recurrent + all.feed_forward + all.router + all.latent +
                             all.shared_experts) +
         visited * static_cast<double>(all.experts) + static_cast<double>(m.vocab * m.hidden);
}

TEST(Catalogue, EveryModelIsPredictedAndFits) {
  for (const spec::Job& j : jobs()) {
    const sim::Outcome outcome = sim::predict(j, sim::Detail::chains);
    EXPECT_TRUE(outcome.prediction.fits) << j.model.name << ": " << outcome.prediction.peak_bytes;
    EXPECT_GT(outcome.prediction.mfu, 0) << j.model.name;
    EXPECT_LT(outcome.prediction.mfu, 1) << j.model.name;
  }
}

/// Of an indexer that does not learn, forward alone: 2 for each of its weights and each token, and for each pair of a
/// query and a key at or before it 2 for each of the heads' numbers.
double indexing(const spec::Job& j) {
  const spec::Model& m = j.model;
  if (!m.indexer) return 0;
  const double s = static_cast<double>(j.training.sequence);
  const double layers = m.count_layers([](spec::LayerParts parts) { return parts.indexes; });
  const double pairs = s * s / 2 * m.indexer->heads * m.indexer->head_dim;
  return 2 * static_cast<double>(j.training.global_batch) * layers *
         (s * static_cast<double>(spec::indexer_weights(m)) + pairs);
}

TEST(Catalogue, FlopsAreSixForEachActiveParameterAndTokenBesideAttention) {
  for (const spec::Job& j : jobs()) {
    if (j.model.is_list()) continue;
    const double batch = static_cast<double>(j.training.global_batch);
    const double tokens = batch * static_cast<double>(j.training.sequence);
    const double attention = 3 * batch * j.model.layers * plan::forward_flops(j.model, j.training.sequence).attention;
    // Biases, sinks and scales of norms are parameters, and no matmuls: below one in a thousand.
    const double rest = plan::model_flops(j) - attention - indexing(j);
    EXPECT_NEAR(rest / (6 * active(j.model) * tokens), 1, 1e-3) << j.model.name;
  }
}

}  // namespace
