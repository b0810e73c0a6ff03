// SPDX-License-Identifier: Apache-2.0
#include "core/config/kernel_jsonl.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

#include "core/base/text.h"
#include "core/config/collective_jsonl.h"
#include "core/config/json_keys.h"
#include "core/config/row_source.h"
#include "core/config/text_lines.h"
#include "core/spec/calibration.h"

namespace config {
namespace {

using Json = nlohmann::json;

constexpr double kHalf = 2;  // bytes of a 16-bit number
constexpr double kUnstatedStream =
    8.0 * (1LL << 30);  // bytes of a bandwidth test that tells no size: far beyond caches

// What tables write in a row and its shape; not all of it matters to a price.
const std::vector<std::string> kRowKeys{"id",           "kind",
                                        "shape",        "dtype",
                                        "gpu",          "tflops",
                                        "gb_per_s",     "time_us",
                                        "source",       "quality",
                                        "from_memory",  "software",
                                        "convention",   "impl",
                                        "model",        "efficiency",
                                        "date",         "note",
                                        "causal",       "tflops_causal",
                                        "params",       "overlapped_total_us",
                                        "roundtrip_us", "graph_period_us",
                                        "raw",          "gemm_us",
                                        "comm_us"};
const std::vector<std::string> kShapeKeys{"n",
                                          "m",
                                          "k",
                                          "batch",
                                          "seq",
                                          "causal",
                                          "heads",
                                          "kv_heads",
                                          "head_dim",
                                          "accumulate",
                                          "out_dtype",
                                          "cfg",
                                          "x",
                                          "x_value",
                                          "pass_",
                                          "kv_seq",
                                          "head_dim_qk",
                                          "head_dim_v",
                                          "mask",
                                          "sliding_window",
                                          "deterministic_bwd",
                                          "b",
                                          "layout",
                                          "tokens",
                                          "hidden",
                                          "norm",
                                          "ng",
                                          "M",
                                          "N",
                                          "K",
                                          "dtype",
                                          "main_grad_dtype",
                                          "stage",
                                          "grad",
                                          "use_split_accumulator",
                                          "single_output",
                                          "op",
                                          "seq_len",
                                          "head_num",
                                          "kv_head_num",
                                          "qk_head_dim",
                                          "v_head_dim",
                                          "qkv_contiguous",
                                          "bytes",
                                          "elements",
                                          "model",
                                          "block",
                                          "layers",
                                          "network",
                                          "groups",
                                          "what",
                                          "total_m",
                                          "part",
                                          "note",
                                          "tool",
                                          "pinned"};

int memory_kind(std::string_view name) {
  for (int i = 0; i < spec::kMemoryKinds; ++i) {
    if (spec::kMemoryKindNames[i] == name) return i;
  }
  return 0;
}

/// One line's object; every look-up that fails is a fault of that line.
class KernelRowReader {
 public:
  KernelRowReader(const TextLines& lines, const Json& row, KernelTables& out) : lines_(lines), row_(row), out_(out) {
    refuse_unknown(lines_, row_, kRowKeys);
    kind_ = text(row_, "kind");
    if (!row_.contains("shape") || !row_["shape"].is_object()) fail("shape", "is missing", "write shape: {...}");
    shape_ = row_["shape"];
    refuse_unknown(lines_, shape_, kShapeKeys, "shape.");
  }

  void read() {
    if (kind_ == "gemm") return read_matmul();
    if (kind_ == "grouped_gemm") return read_grouped();
    if (kind_ == "attention_fwd") return read_attention(AttentionRow::Passes::forward);
    if (kind_ == "attention_bwd") return read_attention(AttentionRow::Passes::backward);
    if (kind_ == "attention_fwd_bwd") return read_attention(AttentionRow::Passes::both);
    read_memory();
  }

 private:
  [[noreturn]] void fail(const std::string& field, const std::string& what, const std::string& mend) const {
    lines_.fault(1, field, what, mend);
  }

  std::string text(const Json& map, const char* key) const {
    const auto at = map.find(key);
    if (at == map.end()) fail(key, "is missing", "write it in every row");
    return at->is_string() ? at->get<std::string>() : "";
  }
  /// Left out or null: empty.
  std::optional<double> number(const Json& map, const char* key) const {
    const auto at = map.find(key);
    if (at == map.end() || at->is_null()) return std::nullopt;
    if (!at->is_number() || at->get<double>() <= 0)
      fail(key, at->dump() + " is no number above 0", "write a number above 0");
    return at->get<double>();
  }
  std::int64_t size(const char* key) const {
    const auto value = number(shape_, key);
    if (!value) fail(std::string("shape.") + key, "is missing", "write it in every row of kind " + kind_);
    return static_cast<std::int64_t>(*value);
  }
  std::int64_t size(const char* key, std::int64_t otherwise) const {
    return static_cast<std::int64_t>(number(shape_, key).value_or(static_cast<double>(otherwise)));
  }
  double real(const char* key) const { return static_cast<double>(size(key)); }
  bool flag(const char* key) const {  // true, or "True" as Python prints it
    const auto at = shape_.find(key);
    return at != shape_.end() && (*at == true || *at == "True");
  }
  std::string optional_text(const Json& map, const char* key) const {
    const auto at = map.find(key);
    return at != map.end() && at->is_string() ? at->get<std::string>() : "";
  }

  void leave_out(const std::string& why) { ++out_.left_out[why]; }

  std::string source() const { return source_of(lines_, row_); }

  /// `flops`: of the row, for tables that tell only a rate.
  void keep(std::variant<MatmulRow, AttentionRow, MemoryRow> shape, double flops) {
    const auto us = number(row_, "time_us");
    const auto rate = number(row_, "tflops");
    if (!us && (!rate || flops <= 0)) fail("time_us", "is missing, and no rate tells it", "write time_us or tflops");
    const base::Seconds time = us ? base::us(*us) : base::Seconds(flops / (*rate * 1e12));
    const bool sustained = optional_text(row_, "convention").starts_with("sustained");
    out_.rows.push_back({text(row_, "gpu"), out_.source(source()), std::move(shape), time, sustained});
  }

  /// What tensor cores multiply; both 16-bit formats run at one rate and are one here.
  std::optional<spec::Dtype> matmul_dtype() const {
    const std::string name = text(row_, "dtype");
    if (name == "bf16" || name == "fp16") return spec::Dtype::bf16;
    if (name == "mxfp8") return spec::Dtype::mxfp8;
    if (name == "fp8" || name == "fp8_e4m3") return spec::Dtype::fp8;
    if (name == "fp4") return spec::Dtype::nvfp4;
    return std::nullopt;
  }

  void read_matmul() {
    const auto dtype = matmul_dtype();
    MatmulRow row{.m = size("m"), .n = size("n"), .k = size("k"), .batch = size("b", 1)};
    if (source().starts_with("ai-dynamo/aiconfigurator"))
      return leave_out("matmuls of a sweep that has a table of its own");
    if (!dtype) return leave_out("matmuls of " + text(row_, "dtype"));
    row.dtype = *dtype;
    row.accumulates = flag("accumulate");
    if (optional_text(shape_, "out_dtype") == "fp32") row.out = spec::Dtype::fp32;
    keep(row, row.flops());
  }

  /// Tokens M of each of ng experts, weights [N, K]: forward C[M,N], its input's gradient C[M,K], its weights' C[N,K].
  void read_grouped() {
    const std::string stage = optional_text(shape_, "stage");
    const auto dtype = matmul_dtype();
    if (stage.empty() || !dtype) return leave_out("grouped matmuls of which no pass is told");
    const std::int64_t m = size("M"), n = size("N"), k = size("K");
    MatmulRow row{.batch = size("ng"), .dtype = *dtype, .grouped = true};
    if (stage == "fwd") {
      row.m = m, row.n = n, row.k = k;
    } else if (stage == "bwd_grad_act") {
      row.m = m, row.n = k, row.k = n;
    } else if (stage == "bwd_grad_w") {
      row.m = n, row.n = k, row.k = m;
      row.accumulates = flag("accumulate");
      if (optional_text(shape_, "main_grad_dtype") == "fp32") row.out = spec::Dtype::fp32;
    } else {
      fail("shape.stage", base::quoted(stage) + " is not known", "write fwd, bwd_grad_act or bwd_grad_w");
    }
    keep(row, 0);
  }

  /// Which kernel a row names; no name: the default of its GPU. Not ours: false.
  bool read_kernel(AttentionRow& row) const {
    const std::string name = optional_text(row_, "impl");
    if (name.empty()) return true;
    if (name == "FlashAttention-2")
      row.kernel = spec::AttentionKernel::flash2;
    else if (name == "FlashAttention-3")
      row.kernel = spec::AttentionKernel::flash3;
    else if (name == "cudnn" || name == "cuDNN 9")
      row.kernel = spec::AttentionKernel::cudnn;
    else
      return false;
    return true;
  }

  void read_attention(AttentionRow::Passes passes) {
    AttentionRow row;
    row.passes = passes;
    if (!read_kernel(row)) return leave_out("attention by " + optional_text(row_, "impl"));
    const auto window = shape_.find("sliding_window");
    if (window != shape_.end() && !window->is_null()) return leave_out("attention in a window");
    if (flag("deterministic_bwd")) return leave_out("deterministic backward attention");
    const std::string dtype = text(row_, "dtype");
    if (dtype == "mxfp8") return leave_out("attention in mxfp8");
    if (dtype == "fp8") row.dtype = spec::Dtype::fp8;
    row.batch = size("batch");
    row.q_len = shape_.contains("seq_len") ? size("seq_len") : size("seq");
    row.kv_len = size("kv_seq", row.q_len);
    row.heads = static_cast<int>(shape_.contains("head_num") ? size("head_num") : size("heads"));
    row.kv_heads = static_cast<int>(shape_.contains("kv_head_num") ? size("kv_head_num") : size("kv_heads", row.heads));
    const char* width = shape_.contains("qk_head_dim")   ? "qk_head_dim"
                        : shape_.contains("head_dim_qk") ? "head_dim_qk"
                                                         : "head_dim";
    row.head_dim = static_cast<int>(size(width));
    row.value_head_dim = static_cast<int>(size("v_head_dim", size("head_dim_v", row.head_dim)));
    row.causal = flag("causal") || (row_.contains("causal") && row_["causal"] == true);
    // The convention of the tables that tell a rate: 4 s^2 d a head and sequence, 3.5 times with backward, half if
    // causal.
    const double scores = static_cast<double>(row.q_len) * static_cast<double>(row.kv_len) * (row.causal ? 0.5 : 1.0);
    const double of_pass = passes == AttentionRow::Passes::both       ? 3.5
                           : passes == AttentionRow::Passes::backward ? 2.5
                                                                      : 1;
    keep(row, 4 * scores * row.head_dim * row.heads * static_cast<double>(row.batch) * of_pass);
  }

  void keep_memory(std::string_view kind, double bytes) {
    keep(MemoryRow{memory_kind(kind), static_cast<std::int64_t>(bytes)}, 0);
  }

  void read_memory() {
    if (kind_ == "elementwise_gelu") return keep_memory("elementwise", 2 * kHalf * real("elements"));
    if (kind_ == "elementwise_layernorm") return keep_memory("norm", 2 * kHalf * real("m") * real("n"));
    if (kind_ == "elementwise_softmax") return keep_memory("softmax", 2 * kHalf * real("m") * real("n"));
    if (kind_ == "norm_fwd" || kind_ == "norm_bwd") return read_norm();
    if (kind_ == "stream_copy" || kind_ == "stream_read" || kind_ == "stream_dot") return read_stream();
    if (kind_ == "op_megatron_swiglu" || kind_ == "op_megatron_rms_norm" || kind_ == "op_embedding")
      return read_fused();
    if (kind_ == "launch_overhead") {
      return leave_out("bare launches from C: a framework's time to issue a kernel (host) is more than that");
    }
    leave_out("kind " + kind_ + ": no curve is fitted to it");
  }

  /// Forward reads and writes a number; backward reads two and writes one.
  void read_norm() {
    if (optional_text(row_, "impl") != "cudnn") return leave_out("norms that no library fuses");
    const double numbers = real("tokens") * real("hidden");
    keep_memory("norm", kHalf * numbers * (kind_ == "norm_fwd" ? 2 : 3));
  }

  void read_stream() {
    const std::string_view kind = kind_ == "stream_copy" ? "copy" : "reduce";
    if (const auto bytes = number(shape_, "bytes")) return keep_memory(kind, *bytes * (kind == "copy" ? 2 : 1));
    const auto rate = number(row_, "gb_per_s");
    if (!rate) fail("gb_per_s", "is missing", "write it where the shape has no bytes");
    out_.rows.push_back({text(row_, "gpu"), out_.source(source()),
                         MemoryRow{memory_kind(kind), static_cast<std::int64_t>(kUnstatedStream)},
                         base::Seconds(kUnstatedStream / (*rate * 1e9)), false});
  }

  /// Forward passes of Triton and Megatron kernels, whose bytes their sizes tell; `cfg` is JSON within JSON.
  void read_fused() {
    const std::string impl = optional_text(row_, "impl");
    const bool fused = impl == "liger" || (impl == "megatron" && kind_ == "op_megatron_rms_norm");
    if (optional_text(shape_, "pass_") != "forward" || !fused) return leave_out(kind_ + ": backward, or not fused");
    const Json cfg = Json::parse(optional_text(shape_, "cfg"), nullptr, false);
    if (!cfg.is_object()) fail("shape.cfg", "is no JSON map", "write the kernel's sizes");
    const double x = real("x_value");
    const auto of = [&](const char* key) { return number(cfg, key).value_or(1); };
    if (kind_ == "op_embedding") {
      if (x < 16384) return leave_out("embeddings whose table stays in the cache");
      const double element = optional_text(cfg, "dtype") == "torch.float32" ? 4 : 2;
      return keep_memory("embedding", of("B") * of("T") * of("D") * element * 2);
    }
    const bool swiglu = kind_ == "op_megatron_swiglu";  // two halves read, one number written
    keep_memory(swiglu ? "elementwise" : "norm", of("S") * of("B") * x * kHalf * (swiglu ? 3 : 2));
  }

  const TextLines& lines_;
  const Json& row_;
  KernelTables& out_;
  std::string kind_;
  Json shape_;
};

}  // namespace

void read_kernel_jsonl(const std::string& path, KernelTables& tables) {
  TextLines lines(path);
  std::string line;
  while (lines.next(line)) {
    if (line.empty()) continue;
    Json row;
    try {
      row = Json::parse(line);
    } catch (const Json::parse_error& error) {
      lines.fault(static_cast<int>(error.byte), "", "is no JSON", "write one object a line");
    }
    if (!row.is_object()) lines.fault(1, "", "is no JSON map", "write one object a line");
    if (row.contains("op") && !row.contains("kind")) {
      read_collective(lines, row, tables);
    } else {
      KernelRowReader(lines, row, tables).read();
    }
  }
}

}  // namespace config
