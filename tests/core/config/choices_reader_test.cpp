// SPDX-License-Identifier: Apache-2.0
#include "core/config/choices_reader.h"

#include <gtest/gtest.h>

#include "tests/core/config/small_catalogue.h"

namespace config::testing {
namespace {

/// A choice of megatron's launch time (5 us in the small catalogue) between these two overrides.
std::string choice(const std::string& first, const std::string& second, const std::string& present = "a") {
  return "choices:\n- name: host\n  decides: \"launch time\"\n  present: " + present +
         "\n  alternatives:\n    a: {source: \"s\", overrides: " + first +
         "}\n    b: {source: \"t\", overrides: " + second + "}\n";
}

const std::string kHeld = "{frameworks: {megatron: {launch: 5us}}}";

class ChoicesReader : public ::testing::Test {
 protected:
  std::vector<Choice> read(const std::string& yaml) const {
    return read_choices(parse(yaml, "choices.yaml"), small_.catalogue());
  }
  std::string message(const std::string& yaml) const {
    try {
      read(yaml);
    } catch (const base::InputError& error) {
      return error.what();
    }
    return "no fault";
  }
  SmallCatalogue small_;
};

TEST_F(ChoicesReader, ReadsAlternativesInFileOrderAndWhichIsPresent) {
  const auto all = read(choice("{frameworks: {megatron: {launch: 2us}}}", kHeld, "b"));
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].name, "host");
  EXPECT_EQ(all[0].decides, "launch time");
  ASSERT_EQ(all[0].alternatives.size(), 2u);
  EXPECT_EQ(all[0].alternatives[0].name, "a");
  EXPECT_EQ(all[0].alternatives[1].source, "t");
  EXPECT_EQ(all[0].present, 1u);
  EXPECT_EQ(entries_of(all[0].alternatives[0]), std::vector<std::string>{"frameworks.megatron"});
}

TEST_F(ChoicesReader, OverridesAreLaidOverTheCatalogueAndItsFilesStay) {
  const auto all = read(choice(kHeld, "{frameworks: {megatron: {launch: 2us}}}"));
  const Catalogue catalogue = small_.catalogue();
  Faults faults;
  Value name;
  name.kind = Value::Kind::scalar;
  name.text = "megatron";
  const auto launch = [&](const Catalogue& from) { return from.framework(name, "framework", faults).launch.si(); };
  EXPECT_DOUBLE_EQ(launch(catalogue.with(all[0].alternatives[1].overrides)), 2e-6);
  EXPECT_DOUBLE_EQ(launch(catalogue), 5e-6);
  EXPECT_TRUE(faults.empty());
}

TEST_F(ChoicesReader, AJobsOwnKeysWinOverItsDefaults) {
  const Catalogue catalogue = small_.catalogue().with(parse("{job: {simulation: {jitter: 0.02}}}", "choices.yaml"));
  const std::string job =
      "{model: small, cluster: {node: box-8}, training: {sequence: 128, global_batch: 16}, strategy: {tp: 2}";
  EXPECT_EQ(read_job(parse(job + "}", "job.yaml"), catalogue).simulation.jitter, 0.02);
  EXPECT_EQ(read_job(parse(job + ", simulation: {jitter: 0.1}}", "job.yaml"), catalogue).simulation.jitter, 0.1);
}

TEST_F(ChoicesReader, ThePresentAlternativeIsWhatTheCatalogueHolds) {
  EXPECT_EQ(
      message(choice("{frameworks: {megatron: {launch: 6us}}}", kHeld)),
      "choices.yaml:6:66: error: choices[0].alternatives.a.overrides.frameworks.megatron.launch: '6us' is not what "
      "the catalogue holds, '5us'\n"
      "  mend: write the catalogue's value, or name as `present` the alternative that it has");
}

TEST_F(ChoicesReader, UnknownNamesAreOfferedTheNearest) {
  const auto offers = [&](const std::string& overrides, const char* what, const char* mend) {
    const std::string text = message(choice(kHeld, overrides));
    EXPECT_NE(text.find("choices.yaml:7:"), std::string::npos) << text;
    EXPECT_NE(text.find(what), std::string::npos) << text;
    EXPECT_NE(text.find(mend), std::string::npos) << text;
  };
  offers("{framework: {megatron: {launch: 2us}}}", "there is no shelf 'framework'", "did you mean frameworks?");
  offers("{frameworks: {megatrom: {launch: 2us}}}", "there is no entry 'megatrom'", "did you mean megatron?");
  offers("{frameworks: {megatron: {lanch: 2us}}}", "there is no key 'lanch'", "did you mean launch?");
  const std::string text = message(choice(kHeld, kHeld, "c"));
  EXPECT_NE(text.find("choices[0].present: there is no alternative 'c'"), std::string::npos) << text;
}

TEST_F(ChoicesReader, AValueIsReadByItsOwnReader) {
  const std::string text = message(choice(kHeld, "{frameworks: {megatron: {launch: 2}}}"));
  EXPECT_NE(text.find("choices.yaml:7:"), std::string::npos) << text;
  EXPECT_NE(text.find("launch: '2' has no unit"), std::string::npos) << text;
}

TEST_F(ChoicesReader, WhatOneAlternativeSetsThePresentOneSetsToo) {
  const std::string text = message(choice(kHeld, "{frameworks: {megatron: {launch: 5us, step: 2ms}}}"));
  EXPECT_NE(text.find("megatron.step: is not set by the present alternative, a"), std::string::npos) << text;
}

TEST_F(ChoicesReader, ShapesAreChecked) {
  const auto refused = [&](const std::string& yaml, const char* why) {
    const std::string text = message(yaml);
    EXPECT_NE(text.find(why), std::string::npos) << text;
  };
  refused("{choises: []}", "choices: is missing");
  refused("{choises: []}", "did you mean choices?");
  refused("{choices: {a: 1}}", "choices: is not a list");
  refused("{choices: [{name: a, decides: b, present: c, alternatives: {c: {source: s}}}]}",
          "alternatives: are not two");
  refused("{choices: [{name: a, decides: b, present: c, alternatives: {c: {source: s}, d: {overrides: {}}}}]}",
          "overrides: is missing");
  refused(choice(kHeld, kHeld) + choice(kHeld, kHeld).substr(9), "'host' is there already");
}

TEST(PublishedChoices, ThePresentAlternativesAreTheCatalogues) {
  const Catalogue catalogue(FORERUN_SOURCE_DIR);
  EXPECT_GE(read_choices(std::string(FORERUN_SOURCE_DIR) + "/validation/choices.yaml", catalogue).size(), 8u);
}

}  // namespace
}  // namespace config::testing
