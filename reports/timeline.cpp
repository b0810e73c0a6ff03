// SPDX-License-Identifier: Apache-2.0
#include "reports/timeline.h"

#include <algorithm>
#include <array>
#include <cstddef>

namespace reports {
namespace {

using result::SchedulePass;

constexpr int kIdle = result::kPassKinds;  // a kind of its own
using Shares = std::array<double, result::kPassKinds + 1>;

struct Content {
  Shares share{};                                                  // of the cell; adds up to 1
  std::array<const SchedulePass*, result::kPassKinds + 1> pass{};  // with most time, of each kind
};

double common(const SchedulePass& pass, Window cell) {
  return std::max(0.0, std::min(pass.end_s, cell.to_s) - std::max(pass.start_s, cell.from_s));
}

class Cells {
 public:
  Cells(const std::vector<const SchedulePass*>& passes, Window window, int cells)
      : passes_(passes), window_(window), width_((window.to_s - window.from_s) / cells) {}

  Content content(int cell) {
    const Window part{window_.from_s + cell * width_, window_.from_s + (cell + 1) * width_};
    while (next_ < passes_.size() && passes_[next_]->end_s <= part.from_s) ++next_;
    Content out;
    std::array<double, result::kPassKinds> most{};
    out.share[kIdle] = 1;
    for (std::size_t i = next_; i < passes_.size() && passes_[i]->start_s < part.to_s; ++i) {
      const auto kind = static_cast<std::size_t>(passes_[i]->kind);
      const double share = common(*passes_[i], part) / width_;
      out.share[kind] += share;
      out.share[kIdle] -= share;
      if (share <= most[kind]) continue;
      most[kind] = share;
      out.pass[kind] = passes_[i];
    }
    return out;
  }

 private:
  const std::vector<const SchedulePass*>& passes_;
  Window window_;
  double width_;
  std::size_t next_ = 0;
};

}  // namespace

std::vector<const SchedulePass*> timeline(const std::vector<const SchedulePass*>& passes, Window window, int cells) {
  constexpr double kNothing = 1e-9;  // of a cell: what rounding leaves
  Cells line(passes, window, cells);
  Shares due{};  // cells that each kind has not been given yet
  std::vector<const SchedulePass*> out;
  for (int cell = 0; cell < cells; ++cell) {
    const Content here = line.content(cell);
    int shown = -1;
    for (int kind = 0; kind <= kIdle; ++kind) {
      due[kind] += here.share[kind];
      if (here.share[kind] > kNothing && (shown < 0 || due[kind] > due[shown])) shown = kind;
    }
    due[shown] -= 1;
    out.push_back(here.pass[shown]);
  }
  return out;
}

}  // namespace reports
