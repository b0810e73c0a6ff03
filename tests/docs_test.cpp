// tests/docs_test.cpp -- the pages of docs/, README and CONTRIBUTING point at what is there: files, headings, and in
// docs/adding.md every file to touch. SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cctype>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace {

namespace fs = std::filesystem;

const fs::path kRoot = FORERUN_SOURCE_DIR;

std::string text_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::vector<fs::path> pages() {
  std::vector<fs::path> out{kRoot / "README.md", kRoot / "CONTRIBUTING.md"};
  for (const auto& entry : fs::directory_iterator(kRoot / "docs")) {
    if (entry.path().extension() == ".md") out.push_back(entry.path());
  }
  return out;
}

/// The page without blocks of code, in which brackets and # mean something else.
std::string prose_of(const fs::path& page) {
  std::istringstream lines(text_of(page));
  std::string out;
  bool code = false;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("```")) code = !code;
    if (!code) out += line + '\n';
  }
  return out;
}

/// As GitHub makes it of a heading: "What is off, and why" as "what-is-off-and-why".
std::string anchor_of(const std::string& heading) {
  std::string out;
  for (const char c : heading) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == ' ') out += '-';
    if (std::isalnum(byte) || c == '-' || c == '_' || byte >= 0x80) out += static_cast<char>(std::tolower(byte));
  }
  return out;
}

std::set<std::string> anchors_of(const fs::path& page) {
  std::set<std::string> out;
  std::istringstream lines(prose_of(page));
  for (std::string line; std::getline(lines, line);) {
    const std::size_t text = line.find_first_not_of('#');
    if (text > 0 && text != line.npos && line[text] == ' ') out.insert(anchor_of(line.substr(text + 1)));
  }
  return out;
}

/// What stands in the first group wherever the pattern matches.
std::vector<std::string> found(const std::string& text, const char* pattern) {
  const std::regex regex(pattern);
  std::vector<std::string> out;
  for (std::sregex_iterator at(text.begin(), text.end(), regex), end; at != end; ++at) out.push_back((*at)[1]);
  return out;
}

TEST(Docs, AnAnchorIsWhatGitHubMakesOfAHeading) {
  EXPECT_EQ(anchor_of("What is off, and why"), "what-is-off-and-why");
  EXPECT_EQ(anchor_of("A page: `--html FILE`"), "a-page---html-file");
}

TEST(Docs, EveryRelativeLinkLeadsToAFileAndAHeading) {
  int links = 0;
  for (const fs::path& page : pages()) {
    for (const std::string& link : found(prose_of(page), R"(\]\(([^)\s]+)\))")) {
      if (link.find("://") != link.npos) continue;
      ++links;
      const std::size_t hash = link.find('#');
      const fs::path target = hash == 0 ? page : page.parent_path() / link.substr(0, hash);
      EXPECT_TRUE(fs::exists(target)) << page << ": " << link;
      if (hash != link.npos) {
        EXPECT_TRUE(anchors_of(target).contains(link.substr(hash + 1))) << page << ": " << link;
      }
    }
  }
  EXPECT_GT(links, 100);
}

TEST(Docs, EveryPageIsReachedFromTheEntrance) {
  const std::string entrance = text_of(kRoot / "docs/index.md");
  for (const fs::path& page : pages()) {
    if (page.filename() == "index.md") continue;
    EXPECT_NE(entrance.find(page.filename().string() + ")"), entrance.npos) << page;
  }
}

TEST(Docs, EveryFileThatAdditionsTouchIsThere) {
  // `folder/file`, but for patterns: NAME, {a,b}, *.
  int files = 0;
  for (const std::string& path : found(text_of(kRoot / "docs/adding.md"), R"(`([a-z_]+/[\w./-]*)`)")) {
    if (path.find("NAME") != path.npos) continue;
    ++files;
    EXPECT_TRUE(fs::exists(kRoot / path)) << path;
  }
  EXPECT_GT(files, 40);
}

TEST(Docs, EveryKeyOfAFrameworkProfileHasARow) {
  const std::string page = text_of(kRoot / "docs/profiles.md");
  std::set<std::string> keys;
  for (const auto& profile : fs::directory_iterator(kRoot / "workloads/frameworks")) {
    std::istringstream lines(text_of(profile.path()));
    for (std::string line; std::getline(lines, line);) {
      for (std::string& key : found(line, "^([a-z_0-9]+):")) keys.insert(std::move(key));
    }
  }
  ASSERT_GT(keys.size(), 60u);
  for (const std::string& key : keys) {
    EXPECT_TRUE(key == "name" || page.find("`" + key) != std::string::npos) << key << " is not in docs/profiles.md";
  }
}

}  // namespace
