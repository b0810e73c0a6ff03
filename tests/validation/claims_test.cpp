// tests/validation/claims_test.cpp -- keeps validation/claims.yaml and docs/claims.md true: what guides say, asked of
// the simulator. FORERUN_REWRITE_GOLDEN=1 writes the figures and the page anew; whether a statement agrees stays for
// people to decide. SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>
#include <string>

#include "tests/validation/claim_figures.h"
#include "tests/validation/claims.h"
#include "tests/validation/claims_page.h"

namespace {

using claims::Claim;

bool rewrites() { return std::getenv("FORERUN_REWRITE_GOLDEN") != nullptr; }

std::string text_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

void write(const std::string& path, const std::string& text) { std::ofstream(path, std::ios::binary) << text; }

/// The file with the n-th `forerun:` replaced by the n-th value.
std::string with_figures(const std::string& text, const std::vector<double>& values) {
  std::istringstream lines(text);
  std::string line, out;
  std::size_t next = 0;
  while (std::getline(lines, line)) {
    if (line.starts_with("  forerun: ")) line = fmt::format("  forerun: {:.4g}", values.at(next++));
    out += line + "\n";
  }
  return out;
}

/// Bytes and shapes are counted; times move a little with every calibration.
double tolerance(const Claim& claim) { return claims::quantities().at(claim.figure.of).timed ? 0.1 : 0.01; }

TEST(Claims, EachFigureIsWhatTheFileSays) {
  std::vector<double> values;
  for (const Claim& claim : claims::read_file().claims) {
    const double value = claims::value_of(claim);
    values.push_back(value);
    if (!rewrites()) {
      EXPECT_NEAR(value, claim.forerun, tolerance(claim) * std::abs(claim.forerun)) << claim.id;
    }
    EXPECT_EQ(claim.low <= value && value <= claim.high, claim.agrees)
        << claim.id << ": " << value << " and the statement's " << claim.low << " to " << claim.high;
  }
  if (rewrites()) write(claims::path(), with_figures(text_of(claims::path()), values));
}

TEST(Claims, EachIsToldOnceAndExplained) {
  const claims::File file = claims::read_file();
  std::map<std::string, int> times, sources;
  for (const auto& [name, title] : file.sources) sources[name];
  for (const Claim& claim : file.claims) {
    EXPECT_EQ(++times[claim.id], 1) << claim.id;
    EXPECT_EQ(sources.count(claim.source), 1u) << claim.id << ": source " << claim.source;
    EXPECT_LE(claim.low, claim.high) << claim.id;
    EXPECT_FALSE(claim.why.empty()) << claim.id;
  }
}

/// The guides' statements are C01 to C44; one without a row says what it waits for.
TEST(Claims, EveryStatementIsAnsweredOrLeftOutWithAReason) {
  const claims::File file = claims::read_file();
  std::map<std::string, bool> answered, left_out;
  for (const Claim& claim : file.claims) answered[claim.id.substr(0, claim.id.find('-'))] = true;
  for (const auto& [id, reason] : file.left_out) left_out[id] = !reason.empty();
  for (int statement = 1; statement <= 44; ++statement) {
    const std::string id = fmt::format("C{:02}", statement);
    EXPECT_NE(answered[id], left_out[id]) << id;
  }
}

TEST(Claims, ThePageIsOfThisFile) {
  const std::string path = FORERUN_SOURCE_DIR "/docs/claims.md";
  const std::string page = claims::page(claims::read_file());
  if (rewrites()) write(path, page);
  EXPECT_EQ(text_of(path), page) << "write it with FORERUN_REWRITE_GOLDEN=1";
}

}  // namespace
