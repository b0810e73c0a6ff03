// SPDX-License-Identifier: Apache-2.0
#include "reports/comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <vector>

#include "core/base/text.h"
#include "reports/layout.h"
#include "reports/quantity.h"
#include "reports/row_names.h"
#include "reports/table.h"

namespace reports {
namespace {

using result::Comparison;
using result::ComparisonRow;
using result::Prediction;
using Status = ComparisonRow::Status;

class View {
 public:
  View(const Comparison& c, const Style& style) : c_(c), style_(style) {
    std::set<std::string> jobs;
    for (const ComparisonRow& row : c.rows) jobs.insert(row.job);
    for (const ComparisonRow& row : c.rows) {
      labels_.push_back(what_differs(row, jobs.size() > 1));
      width_ = std::max(width_, columns(labels_.back()));
    }
    width_ = std::min(width_, kMostLabelColumns);
  }

  std::string fitting() const {
    using enum Column::Kind;
    const bool sizes = result::gpus_differ(c_);
    std::vector<Column> columns{{"", number, 4},
                                {"", text, width_, 2},
                                {result::pace_name(c_), number, 10},
                                {"of best", number, 9},
                                {result::counted(c_) + "/s/GPU", number, 14},
                                {"MFU", number, 9},
                                {"exposed", number, 9},
                                {"peak", number, 10},
                                {"of GPU", number, 8, 1, true},
                                {"bubble", number, 9}};
    if (sizes) columns.insert(columns.begin() + 2, {"GPUs", number, 7});
    Table table(0, std::move(columns));
    int rank = 0;
    for (std::size_t i = 0; i < c_.rows.size(); ++i) {
      const Prediction& p = c_.rows[i].prediction;
      if (c_.rows[i].status != Status::fits) continue;
      std::vector<Cell> cells{std::to_string(++rank),
                              labels_[i],
                              base::human(base::Seconds(pace_s(p))),
                              fmt::format("x{:.3f}", result::slowdown(c_, c_.rows[i])),
                              base::with_commas(std::llround(p.tokens_per_s_per_gpu)),
                              percent(p.mfu),
                              percent(result::exposed_s(p) / p.step_time_s),
                              bytes(p.peak_bytes),
                              memory_share(p),
                              percent(p.bubble_fraction)};
      if (sizes) cells.insert(cells.begin() + 2, base::with_commas(p.gpus));
      table.add(std::move(cells));
    }
    if (rank == 0) {
      const bool possible = std::ranges::any_of(c_.rows, [](const auto& row) { return row.status != Status::refused; });
      return inked(possible ? "Nothing fits." : "None can be run.", Ink::red, style_) + '\n';
    }
    return paragraph("Best first, by ", order_words(), style_.columns) + '\n' + table.text(style_);
  }

  std::string too_large() const {
    return listed(Status::does_not_fit, '\n' + inked("Does not fit", Ink::red, style_) + '\n',
                  [](const ComparisonRow& row) { return why_it_does_not_fit(row.prediction); });
  }
  std::string refused() const {
    return listed(Status::refused, "\nRefused\n", [](const ComparisonRow& row) { return row.refusal; });
  }
  std::string notes() const {
    std::string out;
    for (std::size_t i = 0; i < c_.rows.size(); ++i) {
      for (const std::string& warning : result::own_warnings(c_, c_.rows[i])) {
        out += paragraph("      " + padded(labels_[i]) + "  ", warning, style_.columns);
      }
    }
    return out.empty() ? "" : "\nTo know\n" + out;
  }

 private:
  static constexpr int kMostLabelColumns = 48;

  std::string order_words() const {
    if (c_.order == Comparison::Order::step_time) return result::pace_name(c_);
    const std::string counted = result::counted(c_);
    return fmt::format("{} per second and GPU ({})", counted,
                       result::gpus_differ(c_) ? "they differ in GPUs" : "the steps differ in " + counted);
  }

  static std::string memory_share(const Prediction& p) {
    if (p.capacity_bytes <= 0) return "";
    return fmt::format("{:.0f} %", 100.0 * static_cast<double>(p.peak_bytes) / static_cast<double>(p.capacity_bytes));
  }
  std::string padded(const std::string& label) const {
    return label + std::string(std::max(0, width_ - columns(label)), ' ');
  }
  template <class Why>
  std::string listed(Status status, const std::string& title, Why why) const {
    std::string out;
    for (std::size_t i = 0; i < c_.rows.size(); ++i) {
      if (c_.rows[i].status == status)
        out += paragraph("      " + padded(labels_[i]) + "  ", why(c_.rows[i]), style_.columns);
    }
    return out.empty() ? "" : title + out;
  }

  const Comparison& c_;
  const Style& style_;
  std::vector<std::string> labels_;
  int width_ = 0;
};

}  // namespace

std::string text(const Comparison& c, const Style& style) {
  const View view(c, style);
  return view.fitting() + view.too_large() + view.refused() + view.notes();
}

}  // namespace reports
