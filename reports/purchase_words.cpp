// reports/purchase_words.cpp -- a purchase plan's answer in sentences: the recommendation and what would flip it.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "core/base/listed.h"
#include "core/base/money.h"
#include "reports/layout.h"
#include "reports/purchase.h"
#include "reports/quantity.h"
#include "reports/shortfall.h"
#include "reports/strategy_words.h"
#include "reports/tight.h"

namespace reports {
namespace {

using result::Flip;
using result::Purchase;
using result::PurchaseRow;

/// "40.8 to 56.6 days": the unit once where both have it.
std::string days_range(double low, double high) {
  const std::string from = days_text(low), to = days_text(high);
  if (from == to) return to;
  const std::size_t unit = from.find(' ');
  return (to.ends_with(from.substr(unit)) ? from.substr(0, unit) : from) + " to " + to;
}

std::string wishes(const Purchase& p) {
  std::string out;
  if (p.deadline_s) out = "finish within " + days_text(*p.deadline_s);
  if (p.budget) out += (out.empty() ? "cost at most " : " and ") + money(*p.budget);
  if (p.outlay) out += std::string(out.empty() ? "" : " and ") + "take at most " + money(*p.outlay) + " to buy";
  return out.empty() ? "can train it" : out;
}

std::size_t able(const Purchase& p) {
  std::size_t count = 0;
  for (const PurchaseRow& row : p.rows) count += row.known() && limits_missed(row).empty() ? 1 : 0;
  return count;
}

std::string reason(const Purchase& p) {
  const std::size_t count = able(p);
  const auto all = static_cast<std::size_t>(std::ranges::count_if(p.rows, &PurchaseRow::looked_at));
  const std::string looked_at = all < p.rows.size() ? " that were looked at" : "";
  const bool wished = p.deadline_s || p.budget || p.outlay;
  const std::string sure = p.deadline_s || p.budget ? " in nine runs of ten" : "";
  if (p.rows.size() == 1) return "the one candidate";
  if (all == 1) return fmt::format("the only one of {} candidates that was looked at", p.rows.size());
  if (count == 1) {
    return fmt::format("of {} candidates{} the only one {} {}{}", all, looked_at, wished ? "to" : "that", wishes(p),
                       sure);
  }
  const std::string of = count == all ? "" : fmt::format(", of {} candidates{}", all, looked_at);
  return fmt::format("the {} of {} that {}{}{}", p.by, count, wishes(p), sure, of);
}

std::string more_or_less(double ratio, const char* more, const char* less) {
  if (std::abs(ratio - 1) < 0.005) return "the same";
  return fmt::format("{:.0f} % {}", std::abs(ratio - 1) * 100, ratio > 1 ? more : less);
}

std::string against_next(const Purchase& p, const PurchaseRow& best) {
  if (!p.runner_up) return "";
  const PurchaseRow& next = p.rows[*p.runner_up];
  const bool overlap = p.by == "fastest" ? next.time_low_s <= best.time_high_s : next.cost_low <= best.cost_high;
  return fmt::format(
      " Next comes {}: cost {}, time {}{}.", next.candidate, more_or_less(next.cost / best.cost, "more", "less"),
      more_or_less(next.time_s / best.time_s, "longer", "shorter"), overlap ? "; the two intervals overlap" : "");
}

/// The budget is of a run's cost: that more is to be paid at once is not what it says.
bool outlay_exceeds_budget(const Purchase& p, const PurchaseRow& row) {
  return p.budget && !p.outlay && row.outlay > *p.budget;
}

std::string outlay(const Purchase& p, const PurchaseRow& best) {
  if (!(best.outlay > 0)) return "";
  const std::string above =
      outlay_exceeds_budget(p, best) ? ", more than the budget of " + money(*p.budget) + " (--outlay limits it)" : "";
  return fmt::format(" Its {} nodes take {} to buy{}; the cost is this run's share of their life.",
                     best.nodes + best.spares, money(best.outlay), above);
}

std::string risk(const Purchase& p, const PurchaseRow& best) {
  std::string out =
      fmt::format("80 % chance to finish in {} and to cost {}.", days_range(best.time_low_s, best.time_high_s),
                  money(best.cost_low) + " to " + money(best.cost_high));
  if (best.chance_in_time && p.deadline_s) {
    out += fmt::format(" {:.1f} % of runs end within {}.", *best.chance_in_time * 100, days_text(*p.deadline_s));
  }
  out += fmt::format(" Failures stop it {:.3g} times, once in {}; {} of the time is training that counts.",
                     best.goodput.failures, days_text(best.goodput.mtbf_s), percent(best.goodput.goodput));
  if (!best.prediction.interval_contributions.empty()) {
    out += " What is least sure of the step: " + best.prediction.interval_contributions.front().cause + ".";
  }
  return out;
}

/// "tp=2 dp=16" of predict's "--tp 2 --dp 16".
std::string as_keys(const std::string& flags) {
  std::string out;
  std::istringstream words(flags);
  for (std::string word; words >> word;) {
    if (word.starts_with("--") && out.ends_with('=')) out += "true ";
    if (word == "--set") continue;
    if (word.starts_with("--")) {
      word.erase(0, 2);
      std::ranges::replace(word, '-', '_');
      out += word + '=';
    } else {
      out += word + ' ';
    }
  }
  if (out.ends_with('=')) out += "true";
  if (out.ends_with(' ')) out.pop_back();
  return out;
}

/// Keys that the user gave and one of the changes names; all that were given where there is no change.
std::vector<std::string> in_the_way(const PurchaseRow& row, const std::vector<std::string>& changes) {
  std::vector<std::string> out;
  for (const std::string& key : row.given) {
    const bool named = std::ranges::any_of(
        changes, [&](const std::string& c) { return (' ' + c).find(' ' + key + '=') != std::string::npos; });
    if (named || changes.empty()) out.push_back(key);
  }
  return out;
}

/// How far the nearest strategy of all candidates is from fitting, and what stands in the way; empty: none was told.
std::string nearest_words(const Purchase& p) {
  const auto over = [](const PurchaseRow& row) {
    const auto [needed, there] = shortfall_of(row.prediction);
    return static_cast<double>(needed) / static_cast<double>(std::max<std::int64_t>(there, 1));
  };
  const PurchaseRow* nearest = nullptr;
  for (const PurchaseRow& row : p.rows) {
    if (row.has_nearest() && (nearest == nullptr || over(row) < over(*nearest))) nearest = &row;
  }
  if (nearest == nullptr) return "";
  std::vector<std::string> changes;
  for (const std::string& flags : nearest->prediction.mends) changes.push_back(as_keys(flags));
  const std::vector<std::string> given = in_the_way(*nearest, changes);
  std::string out = fmt::format(" Nearest comes {} with {}: {}.", nearest->candidate, strategy_words(nearest->strategy),
                                shortfall_words(nearest->prediction));
  if (!changes.empty()) out += " It fits with " + base::listed(changes, " or ") + '.';
  if (!given.empty())
    out += fmt::format(" The search was not to choose {}: --fix, --allow or the plan give{} {}.",
                       base::listed(given, " and "), given.size() == 1 ? "s" : "", given.size() == 1 ? "it" : "them");
  return out;
}

/// How many nodes the deadline asks for: as often twice as many as leaves time to spare at the same pace of a node.
std::string nodes_in_time(const Purchase& p, const PurchaseRow& soonest) {
  if (!p.deadline_s || soonest.in_time) return "";
  std::int64_t nodes = soonest.nodes;
  for (double left = soonest.time_high_s; left > *p.deadline_s; left /= 2) nodes *= 2;
  return fmt::format(" By its pace {} nodes may do: try them, too.", nodes);
}

std::string none_will_do(const Purchase& p) {
  const std::string none = p.complete ? "no candidate" : "no candidate that was looked at";
  const PurchaseRow *soonest = nullptr, *cheapest = nullptr;
  for (const PurchaseRow& row : p.rows) {
    if (!row.fits || !row.refused.empty()) continue;
    const auto time = [](const PurchaseRow& r) { return std::pair(r.time_high_s, r.cost_high); };
    const auto cost = [](const PurchaseRow& r) { return std::pair(r.cost_high, r.time_high_s); };
    if (soonest == nullptr || time(row) < time(*soonest)) soonest = &row;
    if (cheapest == nullptr || cost(row) < cost(*cheapest)) cheapest = &row;
  }
  if (soonest == nullptr) {
    const auto fitting = std::ranges::find_if(p.rows, &PurchaseRow::fits);  // refused for its failures or its life
    return fitting == p.rows.end()
               ? none + " can train this model." + nearest_words(p)
               : fmt::format("{} that fits can finish this run: {} {}.", none, fitting->candidate, fitting->refused);
  }
  if (soonest == cheapest) {
    return fmt::format("{} will {} in nine runs of ten. The soonest and cheapest, {}, is sure within {} for {}.{}",
                       none, wishes(p), soonest->candidate, days_text(soonest->time_high_s), money(soonest->cost_high),
                       nodes_in_time(p, *soonest));
  }
  return fmt::format(
      "{} will {} in nine runs of ten. The soonest, {}, is sure within {} for {}; the cheapest, {}, within "
      "{} for {}.{}",
      none, wishes(p), soonest->candidate, days_text(soonest->time_high_s), money(soonest->cost_high),
      cheapest->candidate, days_text(cheapest->time_high_s), money(cheapest->cost_high), nodes_in_time(p, *soonest));
}

/// With the spare nodes that its cost and its chances rest on.
std::string taken(const PurchaseRow& row) {
  if (row.spares == 0) return row.candidate;
  return fmt::format("{} and {} spare{}", row.candidate, row.spares, row.spares == 1 ? "" : "s");
}

std::string choice(const Purchase& p) {
  const PurchaseRow& best = p.rows[*p.recommended];
  return fmt::format("{}: {}.{}", taken(best), reason(p), against_next(p, best)) + outlay(p, best);
}

std::string figure(const Flip& f, double value) {
  switch (f.kind) {
    case Flip::Kind::rent: return base::human(base::usd_per_hour(value));
    case Flip::Kind::deadline: return days_text(value);
    case Flip::Kind::price:
    case Flip::Kind::outlay:
    case Flip::Kind::budget: break;
  }
  return money(value);
}

constexpr std::string_view kRentOf = "rent of ", kPriceOf = "price of ";

/// The candidates of one entry of the plan, which has a price of its own.
std::string names_of(const Purchase& p, const std::string& entry, bool bought) {
  std::vector<std::string> names;
  for (const PurchaseRow& row : p.rows) {
    if (row.price_of == entry && row.bought == bought) names.push_back(row.candidate);
  }
  if (names.empty()) return entry;
  if (names.size() > 2) return fmt::format("{} and {} more", names.front(), names.size() - 1);
  return fmt::format("{}", fmt::join(names, " and "));
}

std::string name_of(const Purchase& p, const Flip& f) {
  switch (f.kind) {
    case Flip::Kind::rent: return figure_name(p, std::string(kRentOf) + f.of);
    case Flip::Kind::price: return figure_name(p, std::string(kPriceOf) + f.of);
    case Flip::Kind::deadline: return "deadline";
    case Flip::Kind::outlay: return "outlay";
    case Flip::Kind::budget: break;
  }
  return "budget";
}

}  // namespace

std::string limits_missed(const PurchaseRow& row) {
  std::vector<const char*> out;
  if (!row.in_time) out.push_back("too late");
  if (!row.in_budget) out.push_back("too dear");
  if (!row.in_outlay) out.push_back("too much at once");
  return fmt::format("{}", fmt::join(out, ", "));
}

std::vector<std::string> cautions(const Purchase& p, const PurchaseRow& row) {
  std::vector<std::string> out;
  if (outlay_exceeds_budget(p, row)) out.emplace_back("outlay above the budget");
  if (row.tight) out.emplace_back(kTightMark);
  return out;
}

std::string with_limits(std::string title, const Purchase& p) {
  if (p.deadline_s) title += ", within " + days_text(*p.deadline_s);
  if (p.budget) title += ", for at most " + money(*p.budget);
  if (p.outlay) title += ", buying for at most " + money(*p.outlay);
  return title;
}

std::string days_text(double seconds) {
  const double days = seconds / base::kDay;
  if (days < 1.0 / 24) return fmt::format("{:.3g} minutes", seconds / 60);
  if (days < 2) return fmt::format("{:.1f} hours", days * 24);
  return days < 99.95 ? fmt::format("{:.1f} days", days) : fmt::format("{:.0f} days", days);
}

std::string recommendation(const Purchase& p, int width) {
  if (!p.recommended) return paragraph("None: ", none_will_do(p), width);
  return paragraph("Take ", choice(p), width) + paragraph("Risk: ", risk(p, p.rows[*p.recommended]), width);
}

std::string headline(const Purchase& p) {
  if (!p.recommended) return "None: " + none_will_do(p);
  const PurchaseRow& best = p.rows[*p.recommended];
  std::string out = fmt::format("Take {}: {} (80 % interval {}) for {} (80 % interval {} to {}), {}", taken(best),
                                days_text(best.time_s), days_range(best.time_low_s, best.time_high_s), money(best.cost),
                                money(best.cost_low), money(best.cost_high), reason(p));
  if (best.chance_in_time && p.deadline_s) {
    out += fmt::format("; {:.1f} % of runs end within {}", *best.chance_in_time * 100, days_text(*p.deadline_s));
  }
  return out + '.';
}

std::vector<std::string> reasons(const Purchase& p) {
  if (!p.recommended) return {none_will_do(p)};
  return {"Take " + choice(p), risk(p, p.rows[*p.recommended])};
}

std::string figure_name(const Purchase& p, const std::string& what) {
  for (const std::string_view of : {kRentOf, kPriceOf}) {
    if (!what.starts_with(of)) continue;
    const std::string entry = what.substr(of.size());
    if (entry.starts_with("candidates[")) return std::string(of) + names_of(p, entry, of == kPriceOf);
  }
  return what;
}

FlipWords words_of(const Purchase& p, const Flip& f) {
  return {name_of(p, f), f.below ? "below" : "above", figure(f, f.value), f.now > 0 ? figure(f, f.now) : "",
          f.winner.empty() ? "none will do" : f.winner};
}

std::string spine_words(const Purchase& p) {
  if (!p.spine || !p.recommended) return "";
  const std::string& best = p.rows[*p.recommended].candidate;
  const std::string winner = p.spine->winner == best   ? best + " still"
                             : p.spine->winner.empty() ? "none will do"
                                                       : p.spine->winner;
  return fmt::format("uplinks of every fabric halved ({:.3g}:1): {} (its step takes {})", p.spine->oversubscription,
                     winner, more_or_less(p.spine->slower, "longer", "shorter"));
}

std::string flips_text(const Purchase& p, int width) {
  std::string out;
  for (const Flip& f : p.flips) {
    const FlipWords words = words_of(p, f);
    const std::string now = words.now.empty() ? "" : " (now " + words.now + ")";
    out += paragraph("  - ", fmt::format("{} {} {}{}: {}", words.figure, words.side, words.value, now, words.winner),
                     width);
  }
  const std::string spine = spine_words(p);
  return spine.empty() ? out : out + paragraph("  - ", spine, width);
}

}  // namespace reports
