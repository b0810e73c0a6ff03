// tests/core/config/messages.h -- what a user would be told about a piece of input, as one text. The tests of messages
// hold such texts word for word, one file for each kind of mistake. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "tests/core/config/small_catalogue.h"

namespace config::testing {

class MessageTest : public ::testing::Test {
 protected:
  static constexpr const char* kTraining = "sequence: 1024, global_batch: 64";

  /// About a Job of these four lines; each is sound unless a test says otherwise.
  std::string of_strategy(const std::string& strategy) {
    return of_job(strategy, kTraining, "node: box-8, nodes: 2", "small");
  }
  std::string of_training(const std::string& training) {
    return of_job("", training, "node: box-8, nodes: 2", "small");
  }
  std::string of_cluster(const std::string& cluster) { return of_job("", kTraining, cluster, "small"); }
  std::string of_model(const std::string& model) { return of_job("", kTraining, "node: box-8", model); }
  std::string of_job(const std::string& strategy, const std::string& training, const std::string& cluster,
                     const std::string& model) {
    return small_.message("model: " + model + "\ncluster: {" + cluster + "}\ntraining: {" + training +
                          "}\nstrategy: {" + strategy + "}\n");
  }
  /// About a model that is a Hugging Face config of this text.
  std::string of_config_json(const std::string& text) {
    small_.add("workloads/models/other.json", text);
    return of_model("other");
  }
  /// About a file as a tree, before anything is known of its keys.
  static std::string of_text(const std::string& text, const std::string& name = "job.yaml") {
    return told([&] { parse(text, name); });
  }
  static std::string of_file(const std::string& path) {
    return told([&] { load(path); });
  }
  /// About --set PATH=VALUE on a sound Job.
  std::string of_set(const std::string& path, const std::string& value) {
    return told([&] {
      Value tree = parse(
          "model: small\ncluster: {node: box-8}\ntraining: {sequence: 1024, global_batch: 64}\n"
          "strategy: {pp: 2, stage_layers: [12, 12]}\n",
          "job.yaml");
      set_path(tree, path, value, "--set " + path + "=" + value);
      read_job(tree, small_.catalogue());
    });
  }

 private:
  template <class F>
  static std::string told(F read) {
    try {
      read();
    } catch (const base::InputError& error) {
      return error.what();
    }
    return "no fault";
  }

  SmallCatalogue small_;
};

}  // namespace config::testing
