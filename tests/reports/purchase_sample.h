// tests/reports/purchase_sample.h -- three candidates of a purchase in round numbers, for its text and its page.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "core/base/money.h"
#include "core/result/purchase.h"

namespace sample {

/// Time and cost with a tenth to either side.
inline result::PurchaseRow purchase_row(const std::string& name, double days, double cost) {
  result::PurchaseRow out;
  out.candidate = name;
  out.fits = true;
  out.gpus = 256;
  out.time_s = days * base::kDay;
  out.time_low_s = 0.9 * out.time_s;
  out.time_high_s = 1.1 * out.time_s;
  out.cost = cost;
  out.cost_low = 0.9 * cost;
  out.cost_high = 1.1 * cost;
  out.goodput.goodput = 0.95;
  out.goodput.failures = 4;
  out.goodput.mtbf_s = 10 * base::kDay;
  return out;
}

/// a is chosen, b is dearer and faster, c too late.
inline result::Purchase purchase() {
  result::Purchase p;
  p.model = "llama3-70b";
  p.tokens = 1e12;
  p.by = "cheapest";
  p.deadline_s = 60 * base::kDay;
  p.rows = {purchase_row("a", 40, 3e6), purchase_row("b", 20, 4e6), purchase_row("c", 100, 2e6)};
  p.rows[0].chance_in_time = 0.994;
  p.rows[2].in_time = false;
  p.recommended = 0;
  p.runner_up = 1;
  return p;
}

}  // namespace sample
