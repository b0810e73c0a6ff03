// SPDX-License-Identifier: Apache-2.0
#include "cli/stated_dp.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/fault.h"
#include "core/config/job_reader.h"

namespace cli {
namespace {

using spec::SearchKey;

bool from_command_line(const base::Where& where) { return where.file.starts_with("--"); }

/// Whether any of it was given on the command line.
bool asked_for(const config::Value* value) {
  if (!value) return false;
  return from_command_line(value->where) ||
         std::any_of(value->entries.begin(), value->entries.end(),
                     [](const auto& e) { return asked_for(&e.second); }) ||
         std::any_of(value->items.begin(), value->items.end(), [](const config::Value& v) { return asked_for(&v); });
}

/// A dp that is no whole number is a slip of the pen, for its reader to tell.
bool file_states_dp(const config::Value& tree) {
  const config::Value* strategy = tree.find("strategy");
  const config::Value* dp = strategy ? strategy->find("dp") : nullptr;
  return dp && !from_command_line(dp->where) && !dp->text.empty() &&
         dp->text.find_first_not_of("0123456789") == std::string::npos;
}

bool other_degrees_asked_for(const config::Value& tree) {
  const config::Value* strategy = tree.find("strategy");
  return asked_for(tree.find("cluster")) || asked_for(strategy->find("tp")) || asked_for(strategy->find("cp")) ||
         asked_for(strategy->find("pp"));
}

/// The products of one value of each key; a key without values of its own may be anything.
std::vector<std::int64_t> products(const spec::SearchSpace& space, bool& open) {
  std::vector<std::int64_t> out{1};
  for (const SearchKey key : {SearchKey::tp, SearchKey::cp, SearchKey::pp}) {
    if (!space[key]) {
      open = true;
      continue;
    }
    std::vector<std::int64_t> next;
    for (const std::int64_t product : out) {
      for (const spec::SearchValue value : *space[key]) next.push_back(product * value);
    }
    out = std::move(next);
  }
  return out;
}

}  // namespace

void let_dp_follow(config::Value& tree, const config::Catalogue& catalogue) {
  if (!file_states_dp(tree) || !other_degrees_asked_for(tree)) return;
  try {
    config::read_job(tree, catalogue);
  } catch (const base::InputError& error) {
    const bool wrong = std::any_of(error.faults.begin(), error.faults.end(),
                                   [](const base::Fault& fault) { return fault.field == "strategy.dp"; });
    if (wrong) drop_dp(tree);  // its reader tells what else is
  }
}

void let_dp_follow(const config::Value& tree, config::OpenJob& open) {
  std::optional<std::vector<spec::SearchValue>>& dp = open.space[SearchKey::dp];
  const int stated = open.job.strategy.dp.value_or(0);
  if (!file_states_dp(tree) || stated < 1 || dp != std::vector{stated}) return;
  bool is_open = false;
  const std::vector<std::int64_t> others = products(open.space, is_open);
  const std::int64_t ranks = open.job.cluster.gpus();
  const bool stays = std::any_of(others.begin(), others.end(), [&](std::int64_t product) {
    return is_open ? ranks % (product * stated) == 0 : product * stated == ranks;
  });
  if (!stays) dp.reset();
}

void drop_dp(config::Value& tree) {
  config::Value* strategy = tree.find("strategy");
  if (strategy) std::erase_if(strategy->entries, [](const auto& entry) { return entry.first == "dp"; });
}

}  // namespace cli
