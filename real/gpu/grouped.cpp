// real/gpu/grouped.cpp -- the GPU backend's matmuls of experts: one kernel of cuBLAS for all, or, where it refuses, one
// of cuBLASLt for each. SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdint>

#include "real/gpu/gpu_backend.h"
#include "real/gpu/number.h"
#include "real/measure/element.h"

namespace real {

namespace vendor = kernels::vendor;

bool GpuBackend::run_grouped(const std::vector<kernels::ExpertMatmul>& experts, const vendor::MatmulTypes& types,
                             const Tensor& a, const Tensor& b, const Tensor& c) {
  if (const std::string types_refused = vendor::refused_as_grouped(types); !types_refused.empty()) {
    experts_one_by_one_.insert("cuBLAS has no grouped matmul for " + types_refused);
    return false;
  }
  if (vendor::faster_one_by_one(experts)) {
    experts_one_by_one_.insert("experts are large, which cuBLAS's grouped matmul is slower at");
    return false;
  }
  const vendor::Groups groups = vendor::groups_of(experts, types, at(a), at(b), at(c));
  if (groups.count() == 0) return true;
  // Its kernels read packs, and check nothing (cuBLAS documentation, cublasGemmGroupedBatchedEx).
  const auto in_packs = [](const void* address) { return reinterpret_cast<std::uintptr_t>(address) % 16 == 0; };
  if (!std::ranges::all_of(groups.addresses, in_packs)) {
    experts_one_by_one_.insert("rows of experts do not begin at multiples of 16 bytes");
    return false;
  }
  if (!grouped_) grouped_.emplace();
  const std::size_t bytes = groups.addresses.size() * sizeof(void*);
  const DeviceBuffer addresses = lend(bytes), workspace = lend(vendor::GroupedMatmulLibrary::kWorkspace);
  std::ranges::copy(groups.addresses, static_cast<const void**>(staging_.begin(bytes)));
  staging_.send(addresses.data(), bytes, stream());
  const std::string refused = grouped_->run(groups, types, addresses.data(), workspace.data(), raw());
  if (!refused.empty()) experts_one_by_one_.insert(refused);
  return refused.empty();
}

void GpuBackend::grouped_matmul(const kernels::GroupedMatmul& g, const Tensor& a, const Tensor& b, const Tensor& c) {
  const std::vector<kernels::ExpertMatmul> experts = kernels::of_experts(g);
  if (experts.empty()) return;
  const vendor::MatmulTypes types{.a = number(a), .b = number(b), .c = number(c)};
  launch([&] {
    vendor::clear_empty(experts, types, at(c), raw());
    if (run_grouped(experts, types, a, b, c)) return;
    vendor::run_one_by_one(experts, types, at(a), at(b), at(c), matmuls(), raw());
  });
}

}  // namespace real
