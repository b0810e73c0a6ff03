// SPDX-License-Identifier: Apache-2.0
#include "core/config/document.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/core/config/small_catalogue.h"

namespace config {
namespace {

std::string message(const std::string& text) {
  try {
    parse(text, "f.yaml");
  } catch (const base::InputError& error) {
    return error.what();
  }
  return "no fault";
}

TEST(Document, EveryValueKnowsItsPlace) {
  const Value root = parse("a: 1\nb:\n  c: [x, {d: 'y'}]\n", "f.yaml");
  const Value* c = root.find("b")->find("c");
  EXPECT_EQ(c->key_where.line, 3);
  EXPECT_EQ(c->key_where.column, 3);
  EXPECT_EQ(c->where.column, 6);
  const Value* d = c->items[1].find("d");
  EXPECT_EQ(d->text, "y");
  EXPECT_TRUE(d->quoted);
  EXPECT_EQ(d->where.file, "f.yaml");
  EXPECT_EQ(d->where.column, 14);
  EXPECT_FALSE(root.find("a")->quoted);
}

TEST(Document, KeysKeepTheFilesOrder) {
  const Value root = parse("z: 1\na: 2\nm: 3\n", "f.yaml");
  ASSERT_EQ(root.entries.size(), 3u);
  EXPECT_EQ(root.entries[0].first, "z");
  EXPECT_EQ(root.entries[2].first, "m");
}

TEST(Document, JsonIndentedWithTabsIsRead) {
  const Value root = parse("{\n\t\"a\": [1,\t2],\n\t\"b\": {\"c\": null, \"d\": \"x\\ty\"}\n}\n", "f.json");
  EXPECT_EQ(root.find("a")->items[1].text, "2");
  EXPECT_EQ(root.find("b")->find("c")->kind, Value::Kind::null);
  EXPECT_EQ(root.find("b")->find("d")->text, "x\ty");
}

TEST(Document, EmptyFilesAreFaults) {
  const std::string expected = "f.yaml: error: is empty\n  mend: write `key: value` entries into it";
  EXPECT_EQ(message(""), expected);
  EXPECT_EQ(message("# only a comment\n"), expected);
  EXPECT_EQ(message("---\n"), expected);
}

TEST(Document, ASecondDocumentIsAFault) {
  EXPECT_EQ(message("a: 1\n---\nb: 2\n"),
            "f.yaml:3:1: error: a second document starts\n  mend: keep one document in a file: remove the line ---");
  EXPECT_EQ(message("---\na: 1\n...\n"), "no fault");
}

TEST(Document, AKeyWrittenTwiceIsAFault) {
  EXPECT_EQ(message("a: 1\nb: {tp: 1, pp: 2, tp: 4}\n"),
            "f.yaml:2:19: error: tp: is written twice in one map\n  mend: keep one of the two; the first is in line 2");
}

TEST(Document, BrokenSyntaxTellsWhere) {
  EXPECT_EQ(message("a: [1, 2\nb: 3\n"),
            "f.yaml:2:2: error: is not YAML: a list in [ ] is not closed, or lacks a comma\n"
            "  mend: put commas between the entries and ] behind the last");
}

TEST(Document, AFileThatCannotBeReadSaysWhy) {
  const auto load_message = [](const std::string& path) -> std::string {
    try {
      load(path);
    } catch (const base::InputError& error) {
      return error.what();
    }
    return "no fault";
  };
  EXPECT_EQ(load_message("/nowhere/job.yaml"),
            "/nowhere/job.yaml: error: cannot be read: No such file or directory\n"
            "  mend: name a YAML or JSON file that exists and may be read");
  EXPECT_EQ(load_message("/"),
            "/: error: cannot be read: it is a folder\n  mend: name a YAML or JSON file that exists and may be read");
}

TEST(Document, NestingStopsAtSixtyFourLevels) {
  const auto nested = [](int levels) { return std::string(levels, '[') + "1" + std::string(levels, ']'); };
  EXPECT_EQ(message(nested(64)), "no fault");
  EXPECT_EQ(message(nested(65)), "f.yaml:1:65: error: nested deeper than 64 levels\n  mend: write it flatter");
  EXPECT_NE(message(nested(100'000)), "no fault");
}

TEST(Document, AnAliasStandsForWhatItNames) {
  const Value root = parse("a: &x {b: 1}\nc: *x\n", "f.yaml");
  EXPECT_EQ(root.find("c")->find("b")->text, "1");
  EXPECT_EQ(root.find("c")->key_where.line, 2);
}

TEST(Document, AliasesThatExplodeAreStopped) {
  // Each level is ten of the one before: 10^12 values in eleven lines.
  std::string bomb = "a0: &a0 [1,1,1,1,1,1,1,1,1,1]\n";
  for (int i = 1; i < 12; ++i) {
    bomb += 'a' + std::to_string(i) + ": &a" + std::to_string(i) + " [";
    for (int k = 0; k < 10; ++k) bomb += (k ? ",*a" : "*a") + std::to_string(i - 1);
    bomb += "]\n";
  }
  EXPECT_EQ(message(bomb), "f.yaml:6:10: error: more than 250000 values, aliases written out\n  mend: split the file");
}

TEST(Document, AnchorsInsideOneAnotherCountAsWhatTheyKeep) {
  // Each of 60 lists is kept with all that it holds: 60 times the 5,000 leaves of the innermost.
  std::string nested;
  for (int i = 0; i < 60; ++i) nested += "&a" + std::to_string(i) + " [";
  for (int i = 0; i < 5000; ++i) nested += i ? ",1" : "1";
  nested += std::string(60, ']');
  EXPECT_NE(message("a: " + nested).find("more than 250000 values"), std::string::npos);
}

TEST(Document, AnAliasCannotStandInsideWhatItNames) {
  EXPECT_EQ(message("a: &x [*x]\n"),
            "f.yaml:1:8: error: an alias stands inside what it names\n  mend: write the value out");
}

TEST(Merged, MapsMergeAndTheRestIsReplaced) {
  const Value base = parse("{a: {x: 1, y: 2}, b: [1, 2], c: 3}", "base");
  const Value over = parse("{a: {y: 5}, b: [9], d: 4}", "over");
  const Value both = merged(base, over);
  EXPECT_EQ(both.find("a")->find("x")->text, "1");
  EXPECT_EQ(both.find("a")->find("x")->where.file, "base");
  EXPECT_EQ(both.find("a")->find("y")->text, "5");
  EXPECT_EQ(both.find("a")->find("y")->where.file, "over");
  EXPECT_EQ(both.find("b")->items.size(), 1u);
  EXPECT_EQ(both.find("c")->text, "3");
  EXPECT_EQ(both.find("d")->text, "4");
}

TEST(SetPath, NullIsAnEmptyValue) {
  for (const char* yaml : {"null", " ~ ", "", "\n"}) {
    Value root = parse("strategy: {dp: 4}\n", "f.yaml");
    set_path(root, "strategy.dp", yaml, "--set strategy.dp");
    EXPECT_EQ(root.find("strategy")->find("dp")->kind, Value::Kind::null);
  }
}

TEST(SetPath, ReplacesAndAdds) {
  Value root = parse("strategy: {tp: 1}\n", "f.yaml");
  set_path(root, "strategy.tp", "8", "--set strategy.tp=8");
  set_path(root, "strategy.recompute", "{kind: full}", "--set");
  set_path(root, "simulation.slow_ranks", "[1, 2]", "--set");
  EXPECT_EQ(root.find("strategy")->find("tp")->text, "8");
  EXPECT_EQ(root.find("strategy")->find("tp")->where.file, "--set strategy.tp=8");
  EXPECT_EQ(root.find("strategy")->find("tp")->where.line, 0);
  EXPECT_EQ(root.find("strategy")->find("recompute")->find("kind")->text, "full");
  EXPECT_EQ(root.find("simulation")->find("slow_ranks")->items.size(), 2u);
}

TEST(SetPath, BuildsAJobFromNothing) {
  Value root;
  set_path(root, "model", "small", "--model small");
  set_path(root, "cluster.nodes", "8", "--nodes 8");
  EXPECT_EQ(root.find("model")->text, "small");
  EXPECT_EQ(root.find("cluster")->find("nodes")->text, "8");
}

TEST(SetPath, ANameOnTheWayBecomesTheBase) {
  Value root = parse("cluster: {node: box-8}\n", "f.yaml");
  set_path(root, "cluster.node.gpus", "4", "--set cluster.node.gpus=4");
  EXPECT_EQ(root.find("cluster")->find("node")->find("base")->text, "box-8");
  EXPECT_EQ(root.find("cluster")->find("node")->find("gpus")->text, "4");
}

TEST(SetPath, AScalarOnTheWayGivesWayToTheMapThatSaysTheSame) {
  Value root =
      parse("strategy: {offload: none, lora: none, recompute: full, framework: none, fused_kernels: true}\n", "f.yaml");
  set_path(root, "strategy.offload.optimizer", "cpu", "--set");
  set_path(root, "strategy.recompute.layers", "2", "--set");
  set_path(root, "strategy.framework.launch", "5us", "--set");
  set_path(root, "strategy.fused_kernels.rope", "false", "--set");
  const Value& strategy = *root.find("strategy");
  EXPECT_EQ(strategy.find("offload")->entries.size(), 1u);
  EXPECT_EQ(strategy.find("offload")->find("optimizer")->text, "cpu");
  EXPECT_EQ(strategy.find("lora")->text, "none");
  EXPECT_EQ(strategy.find("recompute")->find("kind")->text, "full");
  EXPECT_EQ(strategy.find("recompute")->find("layers")->text, "2");
  EXPECT_EQ(strategy.find("framework")->find("base")->text, "none");  // a framework's name
  EXPECT_EQ(strategy.find("fused_kernels")->find("norm")->text, "true");
  EXPECT_EQ(strategy.find("fused_kernels")->find("rope")->text, "false");
  for (const char* left : {"experts", "optimizer"})  // which true leaves to the framework
    EXPECT_EQ(strategy.find("fused_kernels")->find(left), nullptr);
}

TEST(SetPath, OfWhatIsNoMapAScalarDoesNotGiveWay) {
  Value root = parse("strategy: {overlap: true}\n", "f.yaml");
  try {
    set_path(root, "strategy.overlap.tp", "wgrad", "--set X");
    FAIL();
  } catch (const base::InputError& error) {
    EXPECT_STREQ(error.what(),
                 "--set X: error: strategy.overlap.tp: leads into 'true', which is no map\n"
                 "  mend: write what strategy.overlap is to be as a whole, strategy.overlap=VALUE");
  }
}

TEST(SetPath, AnEntryOfAListIsCountedFromNought) {
  Value root = parse("candidates: [{rent: $1/h}, {rent: $2/h, node: box-8}]\nsizes: [4, 5]\n", "f.yaml");
  set_path(root, "candidates[1].rent", "$3/h", "--set");
  set_path(root, "candidates[1].node.gpus", "4", "--set");
  set_path(root, "sizes[0]", "7", "--set");
  EXPECT_EQ(root.find("candidates")->items[0].find("rent")->text, "$1/h");
  EXPECT_EQ(root.find("candidates")->items[1].find("rent")->text, "$3/h");
  EXPECT_EQ(root.find("candidates")->items[1].find("node")->find("base")->text, "box-8");
  EXPECT_EQ(root.find("sizes")->items[0].text, "7");
  EXPECT_EQ(root.find("sizes")->items[1].text, "5");
}

TEST(SetPath, AnEmptyValueTakesTheFieldBack) {
  Value root = parse("strategy: {dp: 4}\n", "f.yaml");
  set_path(root, "strategy.dp", "", "--set strategy.dp=");
  EXPECT_EQ(root.find("strategy")->find("dp")->kind, Value::Kind::null);
}

TEST(SetPath, ABadPathOrValueIsAFaultOfTheFlag) {
  const auto told = [](const std::string& path, const std::string& yaml) -> std::string {
    Value root = parse("a: [1]\n", "f.yaml");
    try {
      set_path(root, path, yaml, "--set X");
    } catch (const base::InputError& error) {
      return error.what();
    }
    return "no fault";
  };
  EXPECT_EQ(
      told("b..c", "1"),
      "--set X: error: b..c: is no path to a field\n  mend: write the keys with a dot between, such as strategy.tp=8");
  EXPECT_EQ(told("a.b", "1"),
            "--set X: error: a.b: leads into a list\n  mend: set the whole list, a=[...], or an entry of it, a[0]");
  EXPECT_EQ(told("a[1]", "1"), "--set X: error: a[1]: has no entry 1\n  mend: the last one is a[0]");
  EXPECT_EQ(told("b[0]", "1"), "--set X: error: b[0]: has no entry 0\n  mend: write the list first");
  EXPECT_EQ(told("a[0].b", "1"),
            "--set X: error: a[0].b: leads into '1', which is no map\n  mend: set the whole entry, a[0]={...}");
  EXPECT_EQ(told("b", "{c: 1"),
            "--set X: error: b: a bracket is not closed, or a list or a map stands where a key belongs\n"
            "  mend: close every bracket, and write a word before each colon");
}

}  // namespace
}  // namespace config
