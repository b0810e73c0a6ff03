// real/gpu/marks.h -- marks each operator's launches: as a range for those who watch with Nsight Systems and, where a
// collector records, as their owner. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "real/cupti/collector.h"
#include "real/gpu/gpu_backend.h"
#include "real/measure/instances.h"

namespace real {

class Marks final : public Observer {
 public:
  Marks(const plan::Plan& plan, const plan::Role& role) : names_(plan.names), instances_(instances_of(plan, role)) {}

  /// From now on launches have owners; those outside of operators, too.
  void start_owning();
  void stop_owning();
  /// The operators of the latest step that gave the device work.
  std::vector<Launched> launched() const;

  void begun(std::uint64_t operator_number) override;
  void ended(std::uint64_t operator_number, bool launched) override;

 private:
  const std::vector<std::string>& names_;
  std::vector<Launched> instances_;
  std::vector<char> launched_ = std::vector<char>(instances_.size());
  bool owning_ = false;
  std::optional<OperatorScope> outside_, inside_;
};

}  // namespace real
