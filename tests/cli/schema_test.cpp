// tests/cli/schema_test.cpp -- what the subcommands print as JSON, against the schemas of docs/schema.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <valijson/adapters/nlohmann_json_adapter.hpp>
#include <valijson/schema.hpp>
#include <valijson/schema_parser.hpp>
#include <valijson/validation_results.hpp>
#include <valijson/validator.hpp>

#include "tests/cli/run_forerun.h"

namespace {

using nlohmann::json;
using testing_support::Answer;
using testing_support::content_of;
using testing_support::forerun;
using valijson::adapters::NlohmannJsonAdapter;

/// Empty where `answer` is as the schema of that name (draft 7) has it; else what is not, and where.
std::string violations(const std::string& name, const json& answer) {
  const json text = json::parse(content_of(FORERUN_SOURCE_DIR "/docs/schema/" + name + ".json"));
  valijson::Schema schema;
  valijson::SchemaParser(valijson::SchemaParser::kDraft7).populateSchema(NlohmannJsonAdapter(text), schema);
  valijson::ValidationResults results;
  valijson::Validator().validate(schema, NlohmannJsonAdapter(answer), &results);
  std::string out;
  for (valijson::ValidationResults::Error error; results.popError(error);) {
    for (const std::string& place : error.context) out += place;
    out += ": " + error.description + '\n';
  }
  return out;
}

void expect_answer_as_in_schema(const std::string& subcommand, const std::string& arguments) {
  const Answer run = forerun(subcommand + ' ' + arguments + " --json -");
  ASSERT_LE(run.exit_code, 1) << run.err;
  EXPECT_EQ(violations(subcommand, json::parse(run.out)), "") << subcommand << ' ' << arguments;
}

TEST(Schema, OfPredict) {
  for (const char* job : {"llama3-70b-64xh100", "llama3-8b-32xh200", "llama3-70b-decode-8xh100",
                          "llama2-13b-offload-2x4090", "resnet50-8xa100", "mixtral-8x7b-64xh100"}) {
    expect_answer_as_in_schema("predict", job);
  }
}

TEST(Schema, OfCompare) {
  expect_answer_as_in_schema("compare", "llama3-70b-64xh100 llama3-8b-32xh200 --vary strategy.tp=2,3,8");
}

TEST(Schema, OfSearch) {
  expect_answer_as_in_schema("search", "llama3-8b-32xh200 --free micro_batch");
  expect_answer_as_in_schema("search", "llama3-8b-32xh200 --free zero --by cost --price 2");
  expect_answer_as_in_schema("search", "llama3-70b-64xh100 --nodes 1 --free all --fix zero=0 --fix recompute=none");
}

TEST(Schema, OfValidate) {
  const std::string published = FORERUN_SOURCE_DIR "/validation/published/";
  expect_answer_as_in_schema("validate", "'" + published + "torchtitan.yaml'");
  expect_answer_as_in_schema("validate", "'" + published + "megatron-sc21.yaml' --group-by pp");
}

TEST(Schema, OfScale) { expect_answer_as_in_schema("scale", "llama3-8b-32xh200 --gpus 8,10,16"); }

TEST(Schema, OfFit) {
  expect_answer_as_in_schema("fit", "llama3-8b-32xh200 --size micro_batch");
  expect_answer_as_in_schema("fit", "resnet50-8xa100");
}

TEST(Schema, OfExplain) {
  expect_answer_as_in_schema("explain", "llama3-8b-32xh200");
  expect_answer_as_in_schema("explain", "llama3-8b-32xh200 --what-if nic=2x,hbm=0.5x");
  expect_answer_as_in_schema("explain", "llama3-8b-32xh200 --sensitivity");
}

TEST(Schema, AMissingKeyAWrongTypeAndAnUnknownWordAreSeen) {
  json answer = json::parse(forerun("compare llama3-8b-32xh200 --json -").out);
  ASSERT_EQ(violations("compare", answer), "");
  json other = answer;
  other.erase("order");
  EXPECT_NE(violations("compare", other), "");
  other = answer;
  other["rows"][0]["gpus"] = "32";
  EXPECT_NE(violations("compare", other), "");
  other = answer;
  other["rows"][0]["status"] = "perhaps";
  EXPECT_NE(violations("compare", other), "");
}

}  // namespace
