// tests/validation/claims.h -- reads validation/claims.yaml: statements of public guides, each with the jobs that test
// it. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "core/config/catalogue.h"
#include "core/config/job_reader.h"
#include "core/config/map_reader.h"

namespace claims {

/// A quantity (figures.h) of one job, over the same of another or over a number.
struct Figure {
  std::string of, job, over;
  std::string detail;  // of what exactly: an axis, an operator
  int stage = 0;
  double per = 1;
};

struct Claim {
  std::string id, text, source, why;
  std::vector<std::pair<std::string, config::Value>> jobs;  // whole trees
  std::vector<config::Value> sweep;                         // whole trees; `best` is the fastest of them that fits
  Figure figure;
  double low = 0, high = 0;  // what the statement means
  double forerun = 0;        // what the file says that forerun answers
  bool agrees = true;
};

struct File {
  std::vector<std::pair<std::string, std::string>> sources;   // short name and title
  std::vector<std::pair<std::string, std::string>> left_out;  // statement and what it waits for
  std::vector<Claim> claims;
};

inline const std::string& path() {
  static const std::string at = std::string(FORERUN_SOURCE_DIR) + "/validation/claims.yaml";
  return at;
}

inline const config::Catalogue& catalogue() {
  static const config::Catalogue all(FORERUN_SOURCE_DIR);
  return all;
}

/// The first job is whole or a catalogue name; any other is laid over it.
inline std::vector<std::pair<std::string, config::Value>> whole_jobs(const config::Value& jobs) {
  std::vector<std::pair<std::string, config::Value>> whole;
  for (const auto& [name, value] : jobs.entries) {
    if (!whole.empty()) {
      whole.emplace_back(name, config::merged(whole.front().second, value));
    } else if (value.kind == config::Value::Kind::scalar) {
      whole.emplace_back(name, config::load(catalogue().path(config::Catalogue::Kind::job, value.text)));
    } else {
      whole.emplace_back(name, value);
    }
  }
  return whole;
}

/// Every way to take one strategy from each list, laid over the job.
inline std::vector<config::Value> swept(const config::Value& job, const config::Value& lists) {
  std::vector<config::Value> all{job};
  for (const config::Value& choices : lists.items) {
    std::vector<config::Value> next;
    for (const config::Value& so_far : all) {
      for (const config::Value& choice : choices.items) {
        config::Value over;
        over.set("strategy", choice);
        next.push_back(config::merged(so_far, over));
      }
    }
    all = std::move(next);
  }
  return all;
}

inline Claim read_claim(const config::Value& value, config::Faults& faults) {
  Claim claim;
  config::MapReader map(value, "", faults);
  map.require("id", claim.id);
  map.require("claim", claim.text);
  map.require("source", claim.source);
  map.require("forerun", claim.forerun, -1e6, 1e6);
  map.require("agrees", claim.agrees);
  map.require("why", claim.why);
  claim.jobs = whole_jobs(*map.child("jobs"));
  if (const config::Value* sweep = map.child("sweep")) claim.sweep = swept(claim.jobs.front().second, *sweep);
  const config::Value* range = map.child("expected");
  claim.low = std::stod(range->items.at(0).text);
  claim.high = std::stod(range->items.at(1).text);
  config::MapReader figure(*map.child("figure"), claim.id + " figure", faults);
  figure.require("of", claim.figure.of);
  figure.require("job", claim.figure.job);
  figure.read("over", claim.figure.over);
  figure.read("axis", claim.figure.detail);
  figure.read("operator", claim.figure.detail);
  figure.read("stage", claim.figure.stage, 0, 1000);
  figure.read("per", claim.figure.per, 1e-9, 1e15);
  figure.finish();
  map.finish();
  return claim;
}

inline File read_file() {
  const config::Value tree = config::load(path());
  config::Faults faults;
  File file;
  for (const auto& [name, title] : tree.find("source")->entries) file.sources.emplace_back(name, title.text);
  if (const config::Value* left_out = tree.find("left_out")) {
    for (const auto& [id, reason] : left_out->entries) file.left_out.emplace_back(id, reason.text);
  }
  for (const config::Value& item : tree.find("claims")->items) file.claims.push_back(read_claim(item, faults));
  for (const base::Fault& fault : faults) ADD_FAILURE() << base::to_string(fault);
  return file;
}

}  // namespace claims
