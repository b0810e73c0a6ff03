// SPDX-License-Identifier: Apache-2.0
#include "sim/compare.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <exception>
#include <new>

#include "core/base/fault.h"
#include "core/base/parallel.h"
#include "sim/memory/mends.h"
#include "sim/predict.h"

namespace sim {
namespace {

using result::Comparison;
using result::ComparisonRow;
using Status = ComparisonRow::Status;

/// All steps have equally many tokens and GPUs. Or some count samples and others tokens, so that nothing but time is
/// left to compare.
bool ordered_by_time(const Comparison& c) {
  const std::vector<ComparisonRow>& rows = c.rows;
  double tokens = -1;
  std::string counted;
  bool decodes = false, steps = false;
  for (const ComparisonRow& row : rows) {
    if (row.status == Status::refused) continue;
    const bool mixed = !counted.empty() && counted != result::counted(row.prediction);
    if (mixed) return true;
    decodes |= row.prediction.time_per_output_token_s.has_value();
    steps |= !row.prediction.time_per_output_token_s;
    counted = result::counted(row.prediction);
  }
  if (decodes && steps) return false;  // a token's time beside a step's
  if (gpus_differ(c)) return false;
  for (const ComparisonRow& row : rows) {
    if (row.status == Status::refused) continue;
    const double own = row.prediction.tokens_per_s * pace_s(row.prediction);
    if (tokens >= 0 && std::abs(own - tokens) > 0.5) return false;  // whole tokens, but for rounding
    tokens = own;
  }
  return true;
}

}  // namespace

ComparisonRow predicted(Candidate candidate) {
  ComparisonRow row;
  row.job = std::move(candidate.job);
  row.varied = std::move(candidate.varied);
  row.refusal = std::move(candidate.refusal);
  if (!candidate.sound) return row;
  try {
    row.prediction = predict(*candidate.sound, Detail::chains).prediction;
    if (!row.prediction.fits) row.prediction.mends = changes_that_fit(*candidate.sound);
    row.status = row.prediction.fits ? Status::fits : Status::does_not_fit;
  } catch (const base::InputError& error) {
    row.refusal = error.faults.front().field + ": " + error.faults.front().what;
  } catch (const std::bad_alloc&) {
    row.refusal = "there is not enough memory on this machine to simulate it";
  } catch (const std::exception& error) {  // one defect must not take the other rows away
    row.refusal = std::string("forerun itself is wrong, please report it: ") + error.what();
  }
  return row;
}

Comparison compare(std::vector<Candidate> candidates) {
  Comparison out;
  out.rows.resize(candidates.size());
  base::parallel_for(candidates.size(), [&](std::size_t i) { out.rows[i] = predicted(std::move(candidates[i])); });
  using Order = Comparison::Order;
  out.order = ordered_by_time(out) ? Order::step_time : Order::tokens_per_gpu;
  std::stable_sort(out.rows.begin(), out.rows.end(), [&](const ComparisonRow& a, const ComparisonRow& b) {
    if (a.status != b.status) return a.status < b.status;
    const result::Prediction &p = a.prediction, &q = b.prediction;
    switch (a.status) {
      case Status::fits:
        return out.order == Order::step_time ? pace_s(p) < pace_s(q) : p.tokens_per_s_per_gpu > q.tokens_per_s_per_gpu;
      case Status::does_not_fit: return p.peak_bytes - p.capacity_bytes < q.peak_bytes - q.capacity_bytes;
      case Status::refused: break;
    }
    return false;
  });
  return out;
}

}  // namespace sim
