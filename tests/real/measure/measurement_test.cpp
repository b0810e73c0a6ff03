// tests/real/measure/measurement_test.cpp -- tests real/measure/measurement.h: one computed struct, told twice.
// SPDX-License-Identifier: Apache-2.0
#include "real/measure/measurement.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace {

/// Steps of 2 s on 2 GPUs: 1000 tokens and 8e12 FLOP each, so 500 tokens/s and 2 TFLOP/s a GPU, half of a peak of 4.
real::Measurement toy() {
  real::Measurement m;
  m.job = "toy on 2 GPUs";
  m.gpus = 2;
  m.warmup = 1;
  m.steps = {base::s(2), base::s(2)};
  m.time = real::spread_of(m.steps);
  m.tokens = 1000;
  m.model_flops = 8e12;
  m.peak = base::TFLOPps(4);
  m.losses = {3.5, 3.25, 3};
  m.memory.measured[0] = 3'000'000'000;
  m.memory.planned[0] = 2'000'000'000;
  m.memory.reserved = 4'000'000'000;
  m.conditions = {{"toy GPU", base::Hertz(1.5e9), base::Hertz(2e9), base::Watts(300), 40, {"power limit", "heat"}}};
  return m;
}

TEST(Measurement, FiguresFollowFromTheMedianStep) {
  EXPECT_DOUBLE_EQ(toy().tokens_per_second(), 500);
  EXPECT_DOUBLE_EQ(toy().model_flops_per_second_per_gpu(), 2e12);
  EXPECT_DOUBLE_EQ(toy().mfu(), 0.5);
}

TEST(Measurement, AnUnknownPeakGivesNoMfu) {
  real::Measurement m = toy();
  m.peak = {};
  EXPECT_EQ(m.mfu(), 0);
  EXPECT_EQ(real::text(m).find("MFU"), std::string::npos);
}

TEST(Measurement, TheTextSaysWhatPeopleAskFor) {
  const std::string text = real::text(toy());
  for (const char* part : {"500 tokens/s, 250 a GPU", "MFU         50.0 %, 2.0 TFLOP/s a GPU", "3.5000 3.2500 3.0000",
                           "2 steps after 1 to warm up", "slowed by power limit, heat"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << " is not in\n" << text;
  }
  EXPECT_EQ(text.find("share a card"), std::string::npos);
}

TEST(Measurement, TimesOfSharedCardsCarryTheirWarning) {
  real::Measurement m = toy();
  m.shares_cards = true;
  EXPECT_NE(real::text(m).find("no time below means anything"), std::string::npos);
}

TEST(Measurement, TheJsonHasTheSameFigures) {
  const auto json = nlohmann::json::parse(real::json(toy()));
  EXPECT_EQ(json.at("schema"), 1);
  EXPECT_EQ(json.at("step_time_s"), 2);
  EXPECT_EQ(json.at("tokens_per_s"), 500);
  EXPECT_EQ(json.at("mfu"), 0.5);
  EXPECT_EQ(json.at("memory").at("peak_bytes"), 3'000'000'000);
  EXPECT_EQ(json.at("memory").at("planned").at("parameters"), 2'000'000'000);
  EXPECT_EQ(json.at("conditions").at(0).at("slowed_by").size(), 2u);
}

// A slice of a card has no power of its own.
TEST(Measurement, WhatTheDriverDoesNotTellIsUnknown) {
  real::Measurement m = toy();
  EXPECT_NE(real::text(m).find("rank 0: toy GPU, SMs 1.50 GHz, memory 2.00 GHz, power 300 W, 40 degrees Celsius, "
                               "slowed by power limit, heat\n"),
            std::string::npos)
      << real::text(m);
  m.conditions[0].power = {};
  m.conditions[0].celsius = 0;
  EXPECT_EQ(real::to_string(m.conditions[0]),
            "toy GPU, SMs 1.50 GHz, memory 2.00 GHz, power unknown, temperature unknown, slowed by power limit, heat");
  const auto condition = nlohmann::json::parse(real::json(m)).at("conditions").at(0);
  EXPECT_TRUE(condition.at("power_w").is_null());
  EXPECT_TRUE(condition.at("celsius").is_null());
  EXPECT_EQ(condition.at("sm_clock_hz"), 1.5e9);
}

real::Condition reading(double gigahertz, double watts, int celsius, std::vector<std::string> slowed_by) {
  return {"toy GPU", base::Hertz(gigahertz * 1e9), base::Hertz(2e9), base::Watts(watts), celsius, std::move(slowed_by)};
}

TEST(Condition, OfSeveralReadingsHasMedianClocksMeanPowerAndAllThatSlowedTheCard) {
  const real::Condition all = real::summary_of({reading(1.2, 500, 50, {}), reading(1.8, 700, 62, {"power limit"}),
                                                reading(1.5, 690, 61, {"heat", "power limit"})});
  EXPECT_EQ(all.gpu, "toy GPU");
  EXPECT_EQ(all.sm_clock.si(), 1.5e9);
  EXPECT_EQ(all.lowest_sm_clock.si(), 1.2e9);
  EXPECT_DOUBLE_EQ(all.power.si(), 630);
  EXPECT_EQ(all.celsius, 62);
  EXPECT_EQ(all.slowed_by, (std::vector<std::string>{"power limit", "heat"}));
  EXPECT_EQ(all.readings, 3);
  EXPECT_EQ(real::to_string(all),
            "toy GPU, SMs 1.50 GHz (lowest 1.20 GHz), memory 2.00 GHz, power 630 W, 62 degrees "
            "Celsius, slowed by power limit, heat");
}

TEST(Condition, WhatADriverDoesNotTellIsNoReading) {
  const real::Condition all = real::summary_of({reading(0, 0, 0, {}), reading(1.8, 0, 40, {})});
  EXPECT_EQ(all.sm_clock.si(), 1.8e9);
  EXPECT_EQ(all.lowest_sm_clock.si(), 1.8e9);
  EXPECT_EQ(all.power.si(), 0);
}

}  // namespace
