// SPDX-License-Identifier: Apache-2.0
#include "core/config/usual_batch.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numeric>

#include "core/base/text.h"

namespace config {
namespace {

constexpr std::int64_t kUsualTokens = 4'194'304;

std::int64_t odd_part(std::int64_t gpus) { return gpus >> std::countr_zero(static_cast<std::uint64_t>(gpus)); }

/// The least common multiple of their odd parts; 1 where it is more than any batch.
std::int64_t odd_part(const std::set<std::int64_t>& gpus) {
  std::int64_t out = 1;
  for (const std::int64_t one : gpus) {
    out = std::lcm(out, odd_part(one));
    if (out > kUsualTokens) return 1;
  }
  return out;
}

std::int64_t batch_of(std::int64_t sequence, std::int64_t odd, double least_power) {
  const double batch = std::max(1.0, static_cast<double>(kUsualTokens) / static_cast<double>(sequence));
  const double times = static_cast<double>(odd) > batch ? 1 : static_cast<double>(odd);
  double power = std::exp2(std::round(std::log2(batch / times)));
  if (times > 1 && least_power * times <= 2 * batch) power = std::max(power, least_power);
  return std::llround(times * power);
}

bool suits(std::int64_t batch, std::int64_t gpus) { return batch % gpus == 0 || gpus % batch == 0; }

}  // namespace

std::map<std::int64_t, std::int64_t> usual_batches(std::int64_t sequence, const std::set<std::int64_t>& gpus) {
  constexpr double kUsualNode = 8;
  const std::int64_t shared = batch_of(sequence, odd_part(gpus), kUsualNode);
  const bool suits_all = std::ranges::all_of(gpus, [&](std::int64_t one) { return suits(shared, one); });
  std::map<std::int64_t, std::int64_t> out;
  for (const std::int64_t one : gpus) out[one] = suits_all ? shared : batch_of(sequence, odd_part(one), 1);
  return out;
}

std::string batches_text(std::int64_t sequence, const std::map<std::int64_t, std::int64_t>& of_gpus) {
  std::map<std::int64_t, std::string> by_batch;
  for (const auto& [gpus, batch] : of_gpus) {
    by_batch[batch] += (by_batch[batch].empty() ? "" : " and ") + std::to_string(gpus);
  }
  std::string out;
  for (const auto& [batch, gpus] : by_batch) {
    out += (out.empty() ? "" : ", ") + std::to_string(batch) + " sequences (" + base::with_commas(batch * sequence) +
           " tokens a step)" + (by_batch.size() > 1 ? " on " + gpus + " GPUs" : "");
  }
  return out;
}

}  // namespace config
