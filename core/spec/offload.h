// core/spec/offload.h -- what leaves the GPU for the host's memory or for its NVMe drives.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

#include "core/spec/names.h"

namespace spec {

/// ZeRO-Offload (Ren et al., arXiv 2101.06840), ZeRO-Infinity (Rajbhandari et al., arXiv 2104.07857), PyTorch's
/// CPUOffloadPolicy, and activations that wait for their backward in the host's memory.
struct Offload {
  enum class To : std::uint8_t { none, cpu, nvme };
  To optimizer = To::none;   // states and gradients; the update runs on the host
  To parameters = To::none;  // shards of zero 3
  bool activations = false;  // to the host's memory
  bool updates_on_host() const { return optimizer != To::none; }
  bool fetches_parameters() const { return parameters != To::none; }
  bool states_on_drives() const { return optimizer == To::nvme; }
  bool parameters_on_drives() const { return parameters == To::nvme; }
  bool uses_nvme() const { return states_on_drives() || parameters_on_drives(); }
  bool any() const { return updates_on_host() || fetches_parameters() || activations; }
};
template <>
inline constexpr auto kNamesOf<Offload::To> = spelt("none", "cpu", "nvme");

}  // namespace spec
