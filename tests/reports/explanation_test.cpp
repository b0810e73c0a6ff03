// SPDX-License-Identifier: Apache-2.0
#include "reports/explanation.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace {

/// A step of 10 s: 6 of matmuls, 3 of tp, 1 of the host.
result::Explanation sample() {
  result::Explanation e;
  e.job = "toy on 2 GPUs";
  e.step_time_s = 10;
  e.categories = {{"matmul", 6, 1200}, {"tp", 3, 30}, {"host", 1, 2}};
  e.stages = {{"1", 7.5, 1000}, {"0", 2.5, 232}};
  e.operators = {{"matmul", "qkv", "forward", 1200, 6, 0.005, "FLOP/s", 500e12, 0.5},
                 {"tp", "qkv all-gather", "forward", 30, 3, 0.1, "B/s", 300e9, 0.75},
                 {"host", "qkv", "forward", 2, 1, 0.5, "", 0, 0}};
  e.what_if = {{"matmul", 4}, {"tp", 7.5}, {"dp", 10}};
  e.warnings = {"node 3: 1 of 8 cards lost: dp 2 x as long"};
  return e;
}

bool contains(const std::string& text, const std::string& part) { return text.find(part) != text.npos; }

std::string line_with(const std::string& text, const std::string& part) {
  const std::size_t at = text.find(part);
  if (at == text.npos) return "";
  const std::size_t begin = text.rfind('\n', at) + 1;
  return text.substr(begin, text.find('\n', at) - begin);
}

TEST(ExplanationText, SharesAreOfTheStep) {
  const std::string text = reports::text(sample());
  EXPECT_TRUE(contains(line_with(text, "  matmul"), "60.0 %")) << text;
  EXPECT_TRUE(contains(line_with(text, "  matmul"), "1,200 x")) << text;
  EXPECT_TRUE(contains(text, "runs through stage 1 75.0 %, stage 0 25.0 %")) << text;
}

TEST(ExplanationText, OperatorsTellTheirRateAndHowNearItIsToThePeak) {
  const std::string text = reports::text(sample());
  EXPECT_TRUE(contains(line_with(text, "  qkv  "), "500 TFLOP/s    50 %")) << text;
  EXPECT_TRUE(contains(line_with(text, "qkv all-gather"), "300 GB/s    75 %")) << text;
  EXPECT_TRUE(contains(text, "host: qkv")) << text;  // the host is told by what it held up
}

TEST(ExplanationText, WhatSavesNothingIsLeftOut) {
  const std::string text = reports::text(sample());
  const std::string tail = text.substr(text.find("If it were free"));
  EXPECT_TRUE(contains(line_with(tail, "  tp"), "-25.0 %")) << tail;
  EXPECT_FALSE(contains(tail, "  dp")) << tail;
}

TEST(ExplanationText, NoLineIsWiderThanTheScreen) {
  auto e = sample();
  e.operators[0].name = std::string(80, 'x');
  const std::string text = reports::text(e);
  std::size_t begin = 0;
  for (std::size_t end; (end = text.find('\n', begin)) != text.npos; begin = end + 1) {
    int width = 0;
    for (std::size_t i = begin; i < end; ++i) width += (text[i] & 0xC0) != 0x80;
    EXPECT_LE(width, 100) << text.substr(begin, end - begin);
  }
}

TEST(ExplanationJson, CarriesEveryPart) {
  const auto json = nlohmann::json::parse(reports::json(sample()));
  EXPECT_EQ(json["schema"], 1);
  EXPECT_EQ(json["categories"][1]["category"], "tp");
  EXPECT_EQ(json["categories"][1]["time_s"], 3);
  EXPECT_EQ(json["stages"][0]["stage"], "1");
  EXPECT_EQ(json["operators"][0]["flops_per_s"], 500e12);
  EXPECT_EQ(json["operators"][1]["bytes_per_s"], 300e9);
  EXPECT_FALSE(json["operators"][2].contains("of_peak"));
  EXPECT_EQ(json["what_if"][0]["saved_s"], 6);
  EXPECT_EQ(json["warnings"][0], "node 3: 1 of 8 cards lost: dp 2 x as long");
}

}  // namespace
