// SPDX-License-Identifier: Apache-2.0
#include "core/config/kernel_csv.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "core/base/number.h"
#include "core/base/text.h"
#include "core/config/text_lines.h"

namespace config {
namespace {

constexpr std::string_view kMatmulHeader = "gpu,dtype,kernel,m,n,k,latency_us,tflops,trtllm_version";
constexpr std::string_view kAttentionHeader =
    "gpu,dtype,kernel,batch,seq,heads,kv_heads,head_dim,latency_us,tflops_causal,trtllm_version";
constexpr std::string_view kSource = ",source";        // may be the last column of either
constexpr std::string_view kTorchFlow = "torch_flow";  // TensorRT-LLM's way through PyTorch and cuBLAS

/// The fields of one line, with the columns of text at which they begin.
class Fields {
 public:
  Fields(const TextLines& lines, std::string_view line, std::string_view header) : lines_(lines), header_(header) {
    for (std::size_t at = 0; at <= line.size();) {
      const std::size_t end = std::min(line.find(',', at), line.size());
      if (count_ < texts_.size()) {
        columns_[count_] = static_cast<int>(at) + 1;
        texts_[count_] = line.substr(at, end - at);
      }
      ++count_;
      at = end + 1;
    }
    const auto wanted = static_cast<std::size_t>(std::count(header.begin(), header.end(), ',')) + 1;
    if (count_ != wanted) {
      lines.fault(1, "", std::to_string(count_) + " fields where the header has " + std::to_string(wanted),
                  "write one field for each column");
    }
  }

  std::string_view text(std::size_t i) const { return texts_[i]; }
  bool has(std::size_t i) const { return i < count_; }

  template <class T>
  T positive(std::size_t i) const {
    const std::string_view text = texts_[i];
    const T value = base::number_in<T>(text).value_or(T{});
    if (!(value > 0)) {
      lines_.fault(columns_[i], name_of(i), base::quoted(text) + " is no number above 0", "write a number above 0");
    }
    return value;
  }

 private:
  std::string name_of(std::size_t i) const {
    std::size_t at = 0;
    for (; i > 0; --i) at = header_.find(',', at) + 1;
    return std::string(header_.substr(at, header_.find(',', at) - at));
  }

  const TextLines& lines_;
  std::string_view header_;
  std::array<std::string_view, 12> texts_;
  std::array<int, 12> columns_{};
  std::size_t count_ = 0;
};

/// "lab/sweeps, TensorRT-LLM 1.0". The layout is aiconfigurator's, and so are rows that name no source.
std::string source_of(const Fields& in) {
  const std::string_view source = in.has(9) ? in.text(9) : "ai-dynamo/aiconfigurator @ 095f58a51";
  return std::string(source) + ", TensorRT-LLM " + std::string(in.text(8));
}

void read_matmul(const Fields& in, KernelTables& out) {
  const std::string_view dtype = in.text(1), kernel = in.text(2);
  if (dtype == "fp8_block") return void(++out.left_out["matmuls with block scales: no price has them"]);
  if (dtype == "nvfp4") return void(++out.left_out["nvfp4 matmuls of the sweep: not the library that training calls"]);
  MatmulRow row{
      .m = in.positive<std::int64_t>(3), .n = in.positive<std::int64_t>(4), .k = in.positive<std::int64_t>(5)};
  const base::Seconds time = base::us(in.positive<double>(6));
  if (kernel != kTorchFlow || (dtype != "bfloat16" && dtype != "fp8")) {
    return void(++out.left_out["matmuls of " + std::string(dtype) + " by " + std::string(kernel)]);
  }
  row.holds_cast = dtype == "fp8";
  if (row.holds_cast) row.dtype = spec::Dtype::fp8;
  out.rows.push_back({std::string(in.text(0)), out.source(source_of(in)), row, time, false});
}

}  // namespace

void read_kernel_csv(const std::string& path, KernelTables& tables) {
  TextLines lines(path);
  std::string line;
  lines.next(line);
  const std::string header = line;
  std::string_view columns = header;
  if (columns.ends_with(kSource)) columns.remove_suffix(kSource.size());
  if (columns != kMatmulHeader && columns != kAttentionHeader) {
    lines.fault(1, "header", base::quoted(header.substr(0, 80)) + " has other columns than are known",
                "write " + std::string(kMatmulHeader) + " or " + std::string(kAttentionHeader));
  }
  while (lines.next(line)) {
    const Fields in(lines, line, header);
    if (columns == kMatmulHeader) {
      read_matmul(in, tables);
    } else {
      for (std::size_t i = 3; i < 8; ++i) in.positive<std::int64_t>(i);
      in.positive<double>(8);
      ++tables.left_out["attention by TensorRT-LLM's own kernels: training does not call them"];
    }
  }
}

}  // namespace config
