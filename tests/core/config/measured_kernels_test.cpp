// SPDX-License-Identifier: Apache-2.0
#include "core/config/measured_kernels.h"

#include <gtest/gtest.h>
#include <zlib.h>

#include <filesystem>
#include <fstream>

#include "core/base/fault.h"

namespace {

namespace fs = std::filesystem;
using config::AttentionRow;
using config::KernelTables;
using config::MatmulRow;
using config::MemoryRow;

constexpr const char* kSweep = "gpu,dtype,kernel,m,n,k,latency_us,tflops,trtllm_version\n";

/// A folder of one test, gone with it.
class MeasuredKernels : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(testing::TempDir()) / testing::UnitTest::GetInstance()->current_test_info()->name();
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string file(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / name, std::ios::binary) << text;
    return folder_ / name;
  }
  KernelTables read(const std::string& name, const std::string& text) const {
    KernelTables tables;
    config::read_kernels(file(name, text), tables);
    return tables;
  }
  /// The message without the folder.
  std::string message(const std::string& name, const std::string& text) const {
    try {
      read(name, text);
    } catch (const base::InputError& error) {
      const std::string what = error.what(), prefix = folder_.string() + '/';
      return what.starts_with(prefix) ? what.substr(prefix.size()) : what;
    }
    return "no fault";
  }

  fs::path folder_;
};

TEST_F(MeasuredKernels, ASweepOfMatmulsKeepsWhatTrainingCallsAndCountsTheRest) {
  const KernelTables tables = read("gemm.csv", std::string(kSweep) +
                                                   "H100,bfloat16,torch_flow,8192,4096,1024,100.5,1,1.0\n"
                                                   "H100,fp8,torch_flow,256,512,1024,9,1,1.0\n"
                                                   "H100,fp8_block,deepgemm,256,512,1024,9,1,1.0\n"
                                                   "H100,nvfp4,torch_flow,256,512,1024,9,1,1.0\n");
  ASSERT_EQ(tables.rows.size(), 2u);
  const auto& first = std::get<MatmulRow>(tables.rows[0].shape);
  EXPECT_EQ(first.m, 8192);
  EXPECT_EQ(first.n, 4096);
  EXPECT_EQ(first.k, 1024);
  EXPECT_FALSE(first.holds_cast);
  EXPECT_EQ(tables.rows[0].time, base::us(100.5));
  const auto& second = std::get<MatmulRow>(tables.rows[1].shape);
  EXPECT_EQ(second.dtype, spec::Dtype::fp8);
  EXPECT_TRUE(second.holds_cast);
  EXPECT_EQ(tables.left_out.size(), 2u);
  EXPECT_EQ(tables.sources, std::vector<std::string>{"ai-dynamo/aiconfigurator @ 095f58a51, TensorRT-LLM 1.0"});
}

TEST_F(MeasuredKernels, ASweepMaySayWhoMeasuredIt) {
  std::string header = kSweep;
  header.insert(header.size() - 1, ",source");
  const KernelTables tables =
      read("gemm.csv", header + "H100,bfloat16,torch_flow,8192,4096,1024,100.5,1,1.0,lab/a x\n");
  EXPECT_EQ(tables.rows.size(), 1u);
  EXPECT_EQ(tables.sources, std::vector<std::string>{"lab/a x, TensorRT-LLM 1.0"});
}

TEST_F(MeasuredKernels, APackedTableIsReadAsAPlainOne) {
  const std::string text = std::string(kSweep) + "H100,bfloat16,torch_flow,8192,4096,1024,100.5,1,1.0\n";
  const std::string path = folder_ / "gemm.csv.gz";
  gzFile out = gzopen(path.c_str(), "wb");
  gzwrite(out, text.data(), static_cast<unsigned>(text.size()));
  gzclose(out);
  KernelTables tables;
  config::read_kernels(path, tables);
  EXPECT_EQ(tables.rows.size(), 1u);
  fs::resize_file(path, fs::file_size(path) - 12);  // the end, with its check sum, is missing
  EXPECT_THROW(config::read_kernels(path, tables), base::InputError);
}

TEST_F(MeasuredKernels, FaultsOfSweepsNameLineColumnAndMend) {
  EXPECT_EQ(message("a.csv", "gpu,speed\n"),
            "a.csv:1:1: error: header: 'gpu,speed' has other columns than are known\n"
            "  mend: write gpu,dtype,kernel,m,n,k,latency_us,tflops,trtllm_version or "
            "gpu,dtype,kernel,batch,seq,heads,kv_heads,head_dim,latency_us,tflops_causal,trtllm_version");
  EXPECT_EQ(message("a.csv", std::string(kSweep) + "H100,bfloat16,torch_flow,8192,4x,1024,100.5,1,1.0\n"),
            "a.csv:2:31: error: n: '4x' is no number above 0\n  mend: write a number above 0");
  EXPECT_EQ(message("a.csv", std::string(kSweep) + "H100,bfloat16,torch_flow,8192,4096,1024,-3,1,1.0\n"),
            "a.csv:2:41: error: latency_us: '-3' is no number above 0\n  mend: write a number above 0");
  EXPECT_EQ(message("a.csv", std::string(kSweep) + "H100,bfloat16\n"),
            "a.csv:2:1: error: 2 fields where the header has 9\n  mend: write one field for each column");
  EXPECT_EQ(message("a.txt", ""),
            "a.txt: error: PATH: is no table that can be read\n"
            "  mend: name files that end in .csv, .jsonl, .csv.gz or .jsonl.gz");
}

TEST_F(MeasuredKernels, ObjectsOfManyKindsBecomeShapes) {
  const std::string source = R"("source": {"repo": "a/b", "path": "c.json", "commit": "0123456789abcdef 2026-01-01"})";
  const KernelTables tables = read(
      "k.jsonl",
      R"({"kind": "gemm", "gpu": "A", "dtype": "fp16", "shape": {"m": 1000, "n": 1000, "k": 1000}, "tflops": 2, )"
      R"("time_us": null, "convention": "sustained: long", )" +
          source + "}\n" +
          R"({"kind": "grouped_gemm", "gpu": "A", "dtype": "bf16", "shape": {"ng": 8, "M": 64, "N": 512, "K": 1024, )"
          R"("stage": "bwd_grad_w", "accumulate": "True", "main_grad_dtype": "fp32"}, "time_us": 5, )" +
          source + "}\n" +
          R"({"kind": "attention_fwd_bwd", "gpu": "A", "dtype": "fp16", "impl": "FlashAttention-2", "tflops": 7, )"
          R"("shape": {"batch": 2, "seq": 1000, "heads": 5, "head_dim": 100, "causal": true}, )" +
          source + "}\n" +
          R"({"kind": "norm_bwd", "gpu": "A", "dtype": "bf16", "impl": "cudnn", "shape": {"tokens": 100, "hidden": 10}, )"
          R"("time_us": 5, )" +
          source + "}\n" + R"({"kind": "nvme_io", "gpu": "A", "dtype": "-", "shape": {}, )" + source + "}\n");
  ASSERT_EQ(tables.rows.size(), 4u);
  EXPECT_EQ(tables.sources, std::vector<std::string>{"a/b c.json @ 012345678"});
  EXPECT_DOUBLE_EQ(tables.rows[0].time.si(), 1e-3);  // 2 x 1000^3 FLOP at 2 TFLOP/s
  EXPECT_TRUE(tables.rows[0].sustained);
  const auto& gradient = std::get<MatmulRow>(tables.rows[1].shape);  // C[N,K] = dY^T X: m = N, n = K, k = tokens
  EXPECT_EQ(gradient.m, 512);
  EXPECT_EQ(gradient.n, 1024);
  EXPECT_EQ(gradient.k, 64);
  EXPECT_EQ(gradient.out, spec::Dtype::fp32);
  EXPECT_TRUE(gradient.grouped && gradient.accumulates);
  // 3.5 x 4 x 1000^2 x 100 x 5 heads x 2 sequences, half of it under the mask: 7 GFLOP at 7 TFLOP/s.
  EXPECT_DOUBLE_EQ(tables.rows[2].time.si(), 1e-3);
  EXPECT_EQ(std::get<AttentionRow>(tables.rows[2].shape).passes, AttentionRow::Passes::both);
  EXPECT_EQ(std::get<MemoryRow>(tables.rows[3].shape).bytes, 6000);  // 3 tensors of 100 x 10 numbers of 2 bytes
  EXPECT_EQ(tables.left_out.at("kind nvme_io: no curve is fitted to it"), 1);
}

TEST_F(MeasuredKernels, FaultsOfObjectsNameLineFieldAndMend) {
  EXPECT_EQ(message("k.jsonl", "{}\n{\"kind\": \n"),
            "k.jsonl:1:1: error: kind: is missing\n  mend: write it in every row");
  EXPECT_EQ(message("k.jsonl", R"({"kind": "gemm", "shape": {"m": 1}, "dtyp": "bf16"})"),
            "k.jsonl:1:1: error: dtyp: is not known\n  mend: did you mean dtype?");
  EXPECT_EQ(message("k.jsonl", R"({"kind": "gemm", "shape": {"m": 1, "head": 2}})"),
            "k.jsonl:1:1: error: shape.head: is not known\n  mend: did you mean heads?");
  EXPECT_EQ(message("k.jsonl", "\n{\"kind\": ]\n"), "k.jsonl:2:10: error: is no JSON\n  mend: write one object a line");
  EXPECT_EQ(message("k.jsonl", R"({"kind": "gemm", "dtype": "bf16", "shape": {"m": 1, "n": 2}})"),
            "k.jsonl:1:1: error: shape.k: is missing\n  mend: write it in every row of kind gemm");
  EXPECT_EQ(message("k.jsonl", R"({"kind": "gemm", "dtype": "bf16", "shape": {"m": 1, "n": -2, "k": 3}})"),
            "k.jsonl:1:1: error: n: -2 is no number above 0\n  mend: write a number above 0");
}

}  // namespace
