// What would change a purchase plan's answer: how far each figure is from the point where another candidate wins, and
// when buying pays. SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/base/money.h"
#include "core/base/text.h"
#include "reports/html/chart.h"
#include "reports/html/page.h"
#include "reports/html/purchase_sections.h"
#include "reports/purchase.h"

namespace reports::html {
namespace {

using result::Flip;
using result::Purchase;

double change(const Flip& flip) { return flip.value / flip.now - 1; }

/// Those of figures that have a value now, the nearest change first.
std::string distances(const Purchase& p) {
  std::vector<Flip> flips;
  std::copy_if(p.flips.begin(), p.flips.end(), std::back_inserter(flips), [](const Flip& f) { return f.now > 0; });
  std::stable_sort(flips.begin(), flips.end(),
                   [](const Flip& a, const Flip& b) { return std::abs(change(a)) < std::abs(change(b)); });
  Table table{"Distance to the change", {{"label", "Figure"}, {"value", "Change", true}, {"kind", "Then wins"}}, {}};
  for (const Flip& flip : flips) {
    const FlipWords words = words_of(p, flip);
    table.rows.push_back({text(fmt::format("{} {} {}", words.figure, words.side, words.value)),
                          signed_share(change(flip)), text(words.winner)});
  }
  return figure(
      {"flips",
       "How far off a change is.",
       "A figure that moves beyond its bar makes the candidate of that colour the recommended one; the shorter "
       "the bar, the nearer.",
       table,
       {},
       {},
       true});
}

std::string flips_table(const Purchase& p) {
  Table table{"Another candidate wins when",
              {{"figure", "Figure"},
               {"side", "Is"},
               {"value", "This", true},
               {"now", "Now", true},
               {"change", "Change", true},
               {"winner", "Then wins"}},
              {}};
  for (const Flip& flip : p.flips) {
    const FlipWords words = words_of(p, flip);
    table.rows.push_back({text(words.figure),
                          text(words.side),
                          {words.value, flip.value, {}},
                          words.now.empty() ? none() : Cell{words.now, flip.now, {}},
                          words.now.empty() ? none() : signed_share(change(flip)),
                          text(words.winner)});
  }
  return table.rows.empty() ? "" : html_of(table, true);
}

}  // namespace

std::string flips_section(const Purchase& p) {
  const std::string spine = spine_words(p);
  return distances(p) + flips_table(p) + (spine.empty() ? "" : paragraph_of("With " + spine + '.'));
}

std::string break_even_section(const Purchase& p) {
  Table table{"Hours of use from which buying costs less",
              {{"node", "Node"},
               {"rent", "Rent of a GPU", true},
               {"price", "Price of a node", true},
               {"hours", "Hours", true},
               {"years", "Years", true},
               {"share", "Of its life", true}},
              {}};
  for (const result::BreakEven& b : p.break_even) {
    const bool never = !(b.hours > 0);  // rent is below the electricity
    table.rows.push_back({text(b.of),
                          {base::human(base::usd_per_hour(b.rent)), b.rent, {}},
                          {base::human(base::usd(b.price)), b.price, {}},
                          never ? text("never") : count(std::llround(b.hours)),
                          never ? none() : decimal(b.hours / 8760, 2),
                          never ? none() : share(b.hours / b.life_hours)});
  }
  return table.rows.empty() ? "" : html_of(table, true);
}

}  // namespace reports::html
