// SPDX-License-Identifier: Apache-2.0
#include "reports/json.h"

#include <gtest/gtest.h>

#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/golden.h"
#include "tests/reports/sample.h"

namespace {

using Json = nlohmann::ordered_json;

Json parsed(const result::Prediction& p) { return Json::parse(reports::json(p)); }

TEST(PredictionJson, IsGolden) { testing_support::expect_golden("predict.json", reports::json(sample::too_large())); }

TEST(PredictionJson, EqualPredictionsGiveEqualBytes) {
  EXPECT_EQ(reports::json(sample::prediction()), reports::json(sample::prediction()));
}

TEST(PredictionJson, BreakdownKeepsItsOrderAndAddsUpToTheStep) {
  const Json json = parsed(sample::prediction());
  double sum = 0;
  std::vector<std::string> names;
  for (const auto& [name, time] : json["breakdown_s"].items()) {
    names.push_back(name);
    sum += time.get<double>();
  }
  EXPECT_EQ(sum, json["step_time_s"].get<double>());
  EXPECT_EQ(names,
            (std::vector<std::string>{"compute", "exposed_tp", "exposed_cp", "exposed_dp", "bubble", "optimizer"}));
}

TEST(PredictionJson, NumbersReadBackToTheSameDouble) {
  result::Prediction p;
  for (const double value : {0.1, 1.0 / 3, 12.300000000000001, 5e-324, 1.7976931348623157e308, 123456789.123456789}) {
    p.step_time_s = value;
    EXPECT_EQ(parsed(p)["step_time_s"].get<double>(), value);
  }
}

TEST(PredictionJson, ANumberThatIsNotFiniteIsNull) {
  result::Prediction p;
  p.mfu = std::numeric_limits<double>::quiet_NaN();
  EXPECT_TRUE(parsed(p)["mfu"].is_null());
}

TEST(PredictionJson, BytesBeyondFourGigabytesAreExact) {
  result::Prediction p;
  p.peak_bytes = 9'007'199'254'740'993;  // 2^53 + 1, which no double holds
  EXPECT_EQ(parsed(p)["memory"]["peak_bytes"].get<std::int64_t>(), 9'007'199'254'740'993);
}

TEST(PredictionJson, TextThatIsNotUtf8IsReplacedAndNotRefused) {
  result::Prediction p;
  p.job = "model\xff.json";
  EXPECT_EQ(parsed(p)["job"], "model\xEF\xBF\xBD.json");  // U+FFFD
}

TEST(PredictionJson, AnEmptyPredictionKeepsItsMapsAndLists) {
  const Json json = parsed({});
  EXPECT_TRUE(json["breakdown_s"].is_object());
  EXPECT_TRUE(json["communication"].is_object());
  EXPECT_TRUE(json["settings"].is_object());
  EXPECT_TRUE(json["memory"]["stages"].is_array());
  EXPECT_TRUE(json["warnings"].is_array());
}

/// Every key at any depth, once; but for the Job file's in `settings`, which docs/job.md has.
void collect(const Json& json, std::vector<std::string>& keys) {
  if (json.is_object()) {
    for (const auto& [key, value] : json.items()) {
      keys.push_back(key);
      if (key != "settings") collect(value, keys);
    }
  } else if (json.is_array()) {
    for (const Json& item : json) collect(item, keys);
  }
}

TEST(PredictionJson, EveryKeyIsDocumented) {
  std::ifstream file(FORERUN_SOURCE_DIR "/docs/output.md");
  std::ostringstream documentation;
  documentation << file.rdbuf();
  std::vector<std::string> keys;
  collect(parsed(sample::prediction()), keys);
  ASSERT_GT(keys.size(), 30u);
  for (const std::string& key : keys) {
    EXPECT_NE(documentation.str().find('`' + key + '`'), std::string::npos) << key << " is not in docs/output.md";
  }
}

}  // namespace
