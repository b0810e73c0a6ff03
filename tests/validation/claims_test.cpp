// tests/validation/claims_test.cpp -- keeps validation/claims.yaml true: what guides say, asked of the simulator.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "core/config/catalogue.h"
#include "core/config/job_reader.h"
#include "core/config/map_reader.h"
#include "sim/predict.h"

namespace {

struct Claim {
  std::string id, of, why;
  config::Value job, over;
  bool relative = false, agrees = true;
  double per = 1, low = 0, high = 0, forerun = 0;
};

const config::Catalogue& catalogue() {
  static const config::Catalogue all(FORERUN_SOURCE_DIR);
  return all;
}

/// The first job is whole or a catalogue name; any other is laid over it.
config::Value job_named(const config::Value& jobs, const std::string& name) {
  const config::Value& first = jobs.entries.front().second;
  const config::Value whole = first.kind == config::Value::Kind::scalar
                                  ? config::load(catalogue().path(config::Catalogue::Kind::job, first.text))
                                  : first;
  return name == jobs.entries.front().first ? whole : config::merged(whole, *jobs.find(name));
}

Claim read_claim(const config::Value& value, const config::Value& sources, config::Faults& faults) {
  Claim claim;
  std::string text, source, job, over;
  config::MapReader map(value, "", faults);
  map.require("id", claim.id);
  map.require("claim", text);
  map.require("source", source);
  map.require("forerun", claim.forerun, 0.0, 1e6);
  map.require("agrees", claim.agrees);
  map.require("why", claim.why);
  EXPECT_TRUE(sources.find(source)) << claim.id << ": source " << source;
  const config::Value* jobs = map.child("jobs");
  const config::Value* range = map.child("expected");
  config::MapReader figure(*map.child("figure"), "figure", faults);
  figure.require("of", claim.of);
  figure.require("job", job);
  figure.read("per", claim.per, 1e-9, 1e12);
  claim.job = job_named(*jobs, job);
  if ((claim.relative = figure.read("over", over))) claim.over = job_named(*jobs, over);
  figure.finish();
  map.finish();
  claim.low = std::stod(range->items.at(0).text);
  claim.high = std::stod(range->items.at(1).text);
  return claim;
}

std::vector<Claim> read_claims() {
  const config::Value file = config::load(FORERUN_SOURCE_DIR "/validation/claims.yaml");
  config::Faults faults;
  std::vector<Claim> claims;
  for (const config::Value& item : file.find("claims")->items) {
    claims.push_back(read_claim(item, *file.find("source"), faults));
  }
  for (const base::Fault& fault : faults) ADD_FAILURE() << base::to_string(fault);
  return claims;
}

double bytes_of(const result::StageMemory& stage, const std::string& category) {
  for (const auto& [name, bytes] : stage.categories) {
    if (name == category) return static_cast<double>(bytes);
  }
  return 0;
}

/// What a claim may be about. Memory is of the fullest stage, weights are of the whole model.
double quantity(const std::string& of, const config::Value& tree) {
  const spec::Job job = config::read_job(tree, catalogue());
  const result::Prediction answer = sim::predict(job).prediction;
  if (of == "step_time_s") return answer.step_time_s;
  if (of == "tokens_per_s") return answer.tokens_per_s;
  if (of == "bubble_fraction") return answer.bubble_fraction;
  if (of == "fits") return answer.fits ? 1 : 0;
  if (of == "peak_bytes") return static_cast<double>(answer.peak_bytes);
  if (of == "dp_wire_share") {  // bytes that a rank sends for each byte of the buffer that is reduced
    for (const result::Communication& axis : answer.communication) {
      if (axis.axis == "dp") return axis.bus_bandwidth * axis.time_s / static_cast<double>(axis.bytes);
    }
  }
  double fullest = 0, sum = 0;
  for (const result::StageMemory& stage : answer.stages) {
    const double parameters = bytes_of(stage, "parameters");
    const double states = parameters + bytes_of(stage, "gradients") + bytes_of(stage, "optimizer");
    sum += parameters * job.strategy.tp;
    fullest = std::max(fullest, of == "activation_bytes" ? bytes_of(stage, "activations") : states);
  }
  if (of == "weights_bytes") return sum;
  if (of == "state_bytes" || of == "activation_bytes") return fullest;
  ADD_FAILURE() << "there is no quantity '" << of << "'";
  return 0;
}

double figure(const Claim& claim) {
  const double value = quantity(claim.of, claim.job) / claim.per;
  return claim.relative ? value / quantity(claim.of, claim.over) : value;
}

/// Bytes and fits are counted; times move a little with every calibration.
double tolerance(const std::string& of) {
  return of == "step_time_s" || of == "tokens_per_s" || of == "bubble_fraction" ? 0.1 : 0.01;
}

TEST(Claims, EachFigureIsWhatTheFileSays) {
  for (const Claim& claim : read_claims()) {
    const double value = figure(claim);
    EXPECT_NEAR(value, claim.forerun, tolerance(claim.of) * std::abs(claim.forerun)) << claim.id;
    EXPECT_EQ(claim.low <= value && value <= claim.high, claim.agrees)
        << claim.id << ": " << value << " and the statement's " << claim.low << " to " << claim.high;
  }
}

TEST(Claims, EachIsToldOnceAndExplained) {
  std::map<std::string, int> times;
  for (const Claim& claim : read_claims()) {
    EXPECT_EQ(++times[claim.id], 1) << claim.id;
    EXPECT_LE(claim.low, claim.high) << claim.id;
    EXPECT_FALSE(claim.why.empty()) << claim.id;
  }
  EXPECT_GE(times.size(), 20u);
}

}  // namespace
