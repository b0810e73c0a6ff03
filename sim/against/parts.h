// sim/against/parts.h -- sums of what the operators of two steps took, by what they have in common.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "core/result/difference.h"

namespace sim {

/// Parts with the same kind and names are one.
class Parts {
 public:
  using Kind = result::DifferencePart::Kind;

  /// The part of these names, empty at first.
  result::DifferencePart& at(Kind kind, const std::string& family, const std::string& name = "",
                             const std::string& phase = "");
  /// Makes parts of their own of what operators with counterparts waited, where the record tells any of it.
  void split_waiting();
  /// By the size of their difference.
  std::vector<result::DifferencePart> largest_first() const;

 private:
  std::map<std::tuple<Kind, std::string, std::string, std::string>, result::DifferencePart> parts_;
};

/// Summed over names and phases, largest first.
std::vector<result::DifferencePart> by_family(const std::vector<result::DifferencePart>&);

}  // namespace sim
