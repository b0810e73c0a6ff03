// tests/layers_test.cpp -- the house has floors: an #include points to the own folder, or down; sim/, real/ and
// reports/ never include one another. SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <regex>
#include <string>
#include <vector>

namespace {

namespace fs = std::filesystem;

/// The folders that a folder's files may include besides their own. What is not named here does not exist yet.
const std::map<std::string, std::vector<std::string>> kBelow{
    {"core/base", {}},
    {"core/spec", {"core/base"}},
    {"core/trace", {"core/base"}},
    {"core/result", {"core/base"}},
    {"core/config", {"core/spec", "core/trace", "core/result", "core/base"}},
    {"core/plan", {"core/spec", "core/trace", "core/result", "core/base"}},
    {"kernels", {"core/base"}},
    {"sim", {"core/config", "core/plan", "core/spec", "core/trace", "core/result", "core/base"}},
    {"sim/search", {"sim", "core/config", "core/plan", "core/spec", "core/trace", "core/result", "core/base"}},
    {"sim/economics", {"sim", "core/config", "core/plan", "core/spec", "core/trace", "core/result", "core/base"}},
    {"real", {"kernels", "core/config", "core/plan", "core/spec", "core/trace", "core/result", "core/base"}},
    {"reports", {"core/trace", "core/result", "core/base"}},
    {"forerun",
     {"sim/search", "sim/economics", "sim", "reports", "core/config", "core/plan", "core/spec", "core/trace",
      "core/result", "core/base"}},
    {"cli",
     {"sim/search", "sim/economics", "sim", "real", "reports", "core/config", "core/plan", "core/spec", "core/trace",
      "core/result", "core/base"}},
};

/// The longest folder of kBelow that `path` lies in: "sim/search" for sim/search/space.h. Empty: none of ours.
std::string floor_of(const std::string& path) {
  std::string best;
  for (const auto& [folder, below] : kBelow) {
    if (path.starts_with(folder + '/') && folder.size() > best.size()) best = folder;
  }
  return best;
}

/// What is wrong with a file of `folder` that includes `target`; empty when nothing is.
std::string wrong(const std::string& folder, const std::string& target) {
  const std::string there = floor_of(target);
  if (there.empty()) return "leads out of the house, or to a folder without a floor";
  if (there == folder) return "";
  for (const std::string& below : kBelow.at(folder)) {
    if (below == there) return "";
  }
  return folder + " must not include " + there;
}

/// The path in `#include "path"`; empty for other lines, <> among them.
std::string included(const std::string& line) {
  const std::size_t hash = line.find_first_not_of(" \t");
  if (hash == line.npos || line[hash] != '#') return "";
  const std::size_t word = line.find("include", hash), open = line.find('"', hash), close = line.rfind('"');
  return word == line.npos || open == line.npos || close == open ? "" : line.substr(open + 1, close - open - 1);
}

/// look(file, number, line) for every line of the house's sources.
template <class Look>
void each_line(Look look) {
  for (const char* top : {"core", "sim", "reports", "forerun", "cli", "real", "kernels"}) {
    if (!fs::exists(fs::path(FORERUN_SOURCE_DIR) / top)) continue;  // git keeps no empty folder
    for (const auto& entry : fs::recursive_directory_iterator(fs::path(FORERUN_SOURCE_DIR) / top)) {
      const std::string extension = entry.path().extension();
      if (extension != ".h" && extension != ".cpp" && extension != ".cu" && extension != ".cuh") continue;
      const std::string file = fs::relative(entry.path(), FORERUN_SOURCE_DIR);
      std::ifstream lines(entry.path());
      int number = 0;
      for (std::string line; std::getline(lines, line);) look(file, ++number, line);
    }
  }
}

TEST(Layers, EveryIncludePointsDown) {
  int includes = 0;
  each_line([&](const std::string& file, int number, const std::string& line) {
    ASSERT_FALSE(floor_of(file).empty()) << file << " lies in a folder without a floor";
    const std::string target = included(line);
    if (target.empty()) return;
    ++includes;
    EXPECT_EQ(wrong(floor_of(file), target), "") << file << ':' << number << ": " << target;
  });
  EXPECT_GT(includes, 100);  // the folders were really read
}

TEST(Layers, NobodyAsksWhichScheduleOrGenerationItIs) {
  // What it means is a trait beside its name (core/spec/schedule.h, generation.h), so that a new one is a row there.
  const std::regex asks("[!=]= (spec::)?(Schedule|Generation)::");
  each_line([&](const std::string& file, int number, const std::string& line) {
    EXPECT_FALSE(std::regex_search(line, asks)) << file << ':' << number << ": " << line;
  });
  EXPECT_TRUE(std::regex_search("if (s.schedule == spec::Schedule::zb_v)", asks));
}

TEST(Layers, AnUpwardIncludeIsWrong) {
  EXPECT_NE(wrong("core/spec", "core/config/catalogue.h"), "");
  EXPECT_NE(wrong("core/plan", "sim/cost/price.h"), "");
  EXPECT_NE(wrong("kernels", "core/plan/plan.h"), "");
  EXPECT_EQ(wrong("sim", "core/plan/plan.h"), "");
}

TEST(Layers, SimRealAndReportsNeverIncludeOneAnother) {
  for (const char* from : {"sim", "real", "reports"}) {
    for (const char* to : {"sim", "real", "reports"}) {
      if (std::string(from) == to) continue;
      EXPECT_NE(wrong(from, std::string(to) + "/a.h"), "") << from << " -> " << to;
    }
  }
}

TEST(Layers, TheCoreOfSimKnowsNothingOfSearch) {
  EXPECT_NE(wrong("sim", "sim/search/space.h"), "");
  EXPECT_EQ(wrong("sim/search", "sim/engine/engine.h"), "");
}

TEST(Layers, AnIncludeIsFoundHoweverItIsSpaced) {
  EXPECT_EQ(included("#include \"a/b.h\""), "a/b.h");
  EXPECT_EQ(included("  #  include \"a/b.h\"  // why"), "a/b.h");
  EXPECT_EQ(included("#include <vector>"), "");
  EXPECT_EQ(included("// #include \"a/b.h\""), "");
}

}  // namespace
