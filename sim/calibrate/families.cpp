// SPDX-License-Identifier: Apache-2.0
#include "sim/calibrate/families.h"

#include <algorithm>

#include "sim/calibrate/attention_fit.h"
#include "sim/calibrate/matmul_fit.h"

namespace sim {
namespace {

using What = Family::What;

/// More of the data sheet's rate than any clock gives: the row's unit is another, or its GPU.
constexpr double kMostOfDataSheet = 1.5;
constexpr const char* kTooFast = "kernels faster than 1.5 times what the data sheet of their GPU allows";

struct Sorted {
  Family family;
  std::string why_not;  // empty: can be fitted
};

Sorted sort_in(const config::MatmulRow& row, const spec::Gpu& gpu) {
  Sorted out{{row.grouped ? What::grouped : What::matmul, static_cast<int>(row.dtype)}, ""};
  if (!gpu.computes(row.dtype))
    out.why_not = "matmuls in a format that the data sheet has no peak of";
  else if (!row.grouped && std::min({row.m, row.n, row.k}) < kLeastSide)
    out.why_not = "matmuls with a side below 256";
  return out;
}

Sorted sort_in(const config::AttentionRow& row, const spec::Gpu& gpu) {
  const bool narrow = spec::bytes_of(row.dtype) < 2;
  Sorted out{{narrow ? What::narrow_attention : What::attention, static_cast<int>(kernel_of(row, gpu))}, ""};
  if (std::max(row.q_len, row.kv_len) > kLongestFitted)
    out.why_not = "attention over more than 40,000 tokens";
  else if (row.heads < kFewestHeads)
    out.why_not = "attention with fewer than 8 heads";
  return out;
}

Sorted sort_in(const config::MemoryRow& row, const spec::Gpu& gpu) {
  Sorted out{{What::memory, row.kind}, ""};
  if (static_cast<double>(row.bytes) < gpu.l2.si())
    out.why_not = "memory-bound kernels whose bytes fit into the L2 cache";
  return out;
}

/// What the data sheet's rates leave a row at least; no time where it is not asked. REQUIRES: the GPU has the rate.
base::Seconds least_time(const config::MatmulRow& row, const spec::Gpu& gpu) {
  return base::Flops(row.flops()) / gpu.peak_of(row.dtype);
}
/// Two products forward, five backward.
base::Seconds least_time(const config::AttentionRow& row, const spec::Gpu& gpu) {
  if (!gpu.computes(row.dtype)) return {};
  const auto q = static_cast<double>(row.q_len), kv = static_cast<double>(row.kv_len);
  const double pairs = row.causal ? q * kv - q * (q - 1) / 2 : q * kv;
  const double forward = 2 * static_cast<double>(row.batch) * row.heads * pairs * (row.head_dim + row.value_head_dim);
  using Passes = config::AttentionRow::Passes;
  const double times = row.passes == Passes::forward ? 1 : row.passes == Passes::backward ? 2.5 : 3.5;
  return base::Flops(forward * times) / gpu.peak_of(row.dtype);
}
base::Seconds least_time(const config::MemoryRow& row, const spec::Gpu& gpu) {
  return base::Bytes(static_cast<double>(row.bytes)) / gpu.hbm;
}

}  // namespace

std::string name(const Family& family) {
  switch (family.what) {
    case What::memory: return "memory " + std::string(spec::kMemoryKindNames[family.which]);
    case What::matmul: return "matmul " + std::string(spec::kNamesOf<spec::Dtype>[family.which]);
    case What::grouped: return "grouped " + std::string(spec::kNamesOf<spec::Dtype>[family.which]);
    case What::attention: return "attention " + std::string(spec::kNamesOf<spec::AttentionKernel>[family.which]);
    case What::narrow_attention:
      return "attention fp8 " + std::string(spec::kNamesOf<spec::AttentionKernel>[family.which]);
  }
  return "";
}

std::string FamilyRows::largest() const {
  const auto most = std::max_element(by_repository.begin(), by_repository.end(),
                                     [](const auto& a, const auto& b) { return a.second.size() < b.second.size(); });
  return most == by_repository.end() ? "" : most->first;
}

std::map<Family, FamilyRows> families_of(const config::KernelTables& tables, const Device& device,
                                         std::map<std::string, int>& left_out) {
  std::map<Family, FamilyRows> out;
  const std::vector<std::string>& names = device.calibration.measured_as;
  for (const config::MeasuredKernel& row : tables.rows) {
    if (std::find(names.begin(), names.end(), row.gpu) == names.end()) continue;
    const Sorted sorted = std::visit(
        [&](const auto& shape) {
          Sorted out = sort_in(shape, device.gpu);
          if (out.why_not.empty() && least_time(shape, device.gpu) > row.time * kMostOfDataSheet)
            out.why_not = kTooFast;
          return out;
        },
        row.shape);
    const std::string& source = tables.sources[row.source];
    const std::string repository = source.substr(0, source.find(' '));
    base::Seconds& smallest = out[sorted.family].smallest.try_emplace(repository, row.time).first->second;
    smallest = std::min(smallest, row.time);
    if (!sorted.why_not.empty()) {
      ++left_out[sorted.why_not];
      continue;
    }
    out[sorted.family].by_repository[repository].push_back(&row);
  }
  return out;
}

}  // namespace sim
