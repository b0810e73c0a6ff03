// sim/search/leaders.h -- the best strategies found so far, and the front of time against memory: what a bound has to
// beat. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <set>
#include <vector>

#include "core/spec/search_space.h"

namespace sim {

/// Time and memory of a strategy, or bounds below them; of equals that with the smaller values comes first.
struct Standing {
  double time = 0;
  std::int64_t bytes = 0;
  spec::SearchPoint point;
  bool operator==(const Standing&) const = default;
};

/// Any number of threads may use it. What it holds at the end does not depend on the order of what came.
class Leaders {
 public:
  Leaders(std::size_t places, bool by_memory) : places_(places), by_memory_(by_memory) {}

  /// Whether a strategy with these bounds can neither be among the best nor on the front.
  bool beaten(const Standing& bounds);
  void add(const Standing&);

  std::vector<Standing> best() const;   // first to last
  std::vector<Standing> front() const;  // fastest first

 private:
  struct Order {
    bool by_memory;
    bool operator()(const Standing& a, const Standing& b) const;
  };
  bool off_the_front(const Standing& bounds) const;

  const std::size_t places_;
  const bool by_memory_;
  mutable std::mutex guard_;
  std::set<Standing, Order> best_{Order{by_memory_}};
  std::map<std::int64_t, Standing> front_;  // by bytes: fewer bytes take longer
};

}  // namespace sim
