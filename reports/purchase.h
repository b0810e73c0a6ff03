// reports/purchase.h -- the answer of `forerun plan` for people, programs and spreadsheets (docs/plan.md).
//
//                              days   80 %             cost   80 %
//   *> 64 x dgx-h100           41.3   38.9 to 47.0   $3.12M   $2.94M to $3.55M
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "core/result/purchase.h"
#include "reports/style.h"

namespace reports {

std::string text(const result::Purchase&, const Style& = {});
std::string json(const result::Purchase&);
std::string csv(const result::Purchase&);

/// What to take, why, and what may go wrong, in sentences.
std::string recommendation(const result::Purchase&, int width = kColumns);
/// What would change it, a line each.
std::string flips_text(const result::Purchase&, int width = kColumns);

/// What to take, with both intervals and the chance to be in time, in one sentence; or that none will do.
std::string headline(const result::Purchase&);
/// The recommendation's sentences, unbroken: the choice, then the risk; one line where none will do.
std::vector<std::string> reasons(const result::Purchase&);

/// "rent of h100-sxm" "below" "$4.91/h", "$6.16/h" now (may be empty): then "32 x dgx-h100" wins.
struct FlipWords {
  std::string figure, side, value, now, winner;
};
FlipWords words_of(const result::Purchase&, const result::Flip&);
/// "rent of 32 x dgx-h100, $2.50/h" of "rent of candidates[0]": where a candidate has a price of its own, its name in
/// the table instead of its place in the plan; else as it is.
std::string figure_name(const result::Purchase&, const std::string& what);
/// What half as many uplinks would do; empty where nobody looked.
std::string spine_words(const result::Purchase&);

/// "too late", "too dear", "too much at once", or several; empty: it keeps every limit.
std::string limits_missed(const result::PurchaseRow&);
/// Of one that keeps them: "outlay above the budget", where only the budget limits money and buying takes more of it at
/// once; "tight".
std::vector<std::string> cautions(const result::Purchase&, const result::PurchaseRow&);

/// "llama3-70b, 1T tokens", with the limits behind it.
std::string with_limits(std::string title, const result::Purchase&);

/// "41.3 days", "5.2 hours" below two days.
std::string days_text(double seconds);

}  // namespace reports
