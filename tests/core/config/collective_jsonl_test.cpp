// tests/core/config/collective_jsonl_test.cpp -- rows of measured collectives as tables write them.
// SPDX-License-Identifier: Apache-2.0
#include "core/config/collective_jsonl.h"

#include <gtest/gtest.h>

#include <fstream>

#include "core/base/fault.h"

namespace {

class CollectiveJsonl : public testing::Test {
 protected:
  static config::KernelTables read(const std::string& text) {
    const std::string path = testing::TempDir() + "collectives.jsonl";
    std::ofstream(path) << text;
    config::KernelTables tables;
    config::read_kernels(path, tables);
    return tables;
  }
  static std::string message(const std::string& text) {
    try {
      read(text);
    } catch (const base::InputError& error) {
      const std::string what = error.what();
      return what.substr(what.find("collectives.jsonl"));
    }
    return "no fault";
  }
};

const std::string kWhere =
    R"("ranks": 8, "nodes": 1, "gpus_per_node": 8, "gpu": "H100", "source": {"repo": "a/b", "path": "c"})";

TEST_F(CollectiveJsonl, TellWhatRanWhereAndHowLong) {
  const auto tables = read(R"({"op": "alltoall", "size_bytes": 4096, "time_us": 12.5, "busbw_gbps": 0.0, )" + kWhere +
                           "}\n"
                           R"({"op": "all_reduce", "size_bytes": null, "busbw_gbps": 480, "algo": "NVLS", )" +
                           kWhere + "}\n");
  ASSERT_EQ(tables.collectives.size(), 2u);
  EXPECT_EQ(tables.collectives[0].op, "all_to_all");
  EXPECT_EQ(tables.collectives[0].time, base::us(12.5));
  EXPECT_EQ(tables.collectives[0].bus, base::ByteRate());         // printed as 0: told by the time
  EXPECT_EQ(tables.collectives[1].bytes, std::int64_t{8} << 30);  // a peak without its size
  EXPECT_EQ(tables.collectives[1].bus, base::GBps(480));
  EXPECT_EQ(tables.collectives[1].algorithm, spec::Algorithm::nvls);
  EXPECT_EQ(tables.sources, std::vector<std::string>{"a/b c"});
}

TEST_F(CollectiveJsonl, WhatNoPriceHasIsCounted) {
  const auto tables = read(R"({"op": "alltoallv", "size_bytes": 1, "time_us": 1, )" + kWhere +
                           "}\n"
                           R"({"op": "all_gather", "size_bytes": 1, "busbw_ratio_of_nominal": 0.5, )" +
                           kWhere + "}\n");
  EXPECT_TRUE(tables.collectives.empty());
  EXPECT_EQ(tables.left_out.at("alltoallv: no price has it"), 1);
  EXPECT_EQ(tables.left_out.at("collectives told as a share of a nominal rate, whose origin is not stated"), 1);
}

TEST_F(CollectiveJsonl, FaultsNameLineFieldAndMend) {
  EXPECT_EQ(message(R"({"op": "all_reduce", "sise_bytes": 4, )" + kWhere + "}"),
            "collectives.jsonl:1:1: error: sise_bytes: is not known\n  mend: did you mean size_bytes?");
  EXPECT_EQ(message(R"({"op": "all_reduce", "size_bytes": 4, )" + kWhere + "}"),
            "collectives.jsonl:1:1: error: time_us: is missing, and no bandwidth tells it\n"
            "  mend: write time_us or busbw_gbps");
  EXPECT_EQ(message(R"({"op": "all_reduce", "size_bytes": -4, "time_us": 1, )" + kWhere + "}"),
            "collectives.jsonl:1:1: error: size_bytes: -4 is no number above 0\n"
            "  mend: write a number above 0, or null");
  EXPECT_EQ(message(R"({"op": "all_reduce", "source": {"repository": "a/b"}})"),
            "collectives.jsonl:1:1: error: source.repository: is not known\n"
            "  mend: leave it out, or write it in note");
}

}  // namespace
