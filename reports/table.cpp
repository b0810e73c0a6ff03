// SPDX-License-Identifier: Apache-2.0
#include "reports/table.h"

#include <algorithm>

#include "reports/layout.h"

namespace reports {
namespace {

using ColumnKind = Column::Kind;

constexpr int kLeastText = 16;   // columns to which a text is broken before anything stands below
constexpr int kBelowIndent = 4;  // of a row's further lines

/// Widths with the room before them; those of columns that are not shown are 0.
struct Shape {
  std::vector<int> widths;
  std::vector<std::size_t> begins{0};  // the first column of each line of a row
};

class Shaper {
 public:
  Shaper(const std::vector<Column>& columns, std::vector<int> contents, int indent, int most)
      : columns_(columns), contents_(std::move(contents)), indent_(indent), most_(most) {
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      const int wished = columns_[i].kind == ColumnKind::number ? columns_[i].width : gap(i) + columns_[i].width;
      shape_.widths.push_back(std::max(wished, needed(i)));
    }
  }

  Shape shape() {
    lose([&](std::size_t i) { return needed(i); });
    lose([&](std::size_t i) { return least(i); });
    if (total(0, columns_.size()) > room(0)) drop_drawings();
    if (total(0, columns_.size()) > room(0)) stack();
    return shape_;
  }

 private:
  int gap(std::size_t i) const { return i == 0 ? 0 : columns_[i].gap; }
  int needed(std::size_t i) const { return gap(i) + contents_[i]; }
  int least(std::size_t i) const {
    return gap(i) + (columns_[i].kind == ColumnKind::text ? std::min(contents_[i], kLeastText) : contents_[i]);
  }
  int room(std::size_t line) const { return most_ - indent_ - (line == 0 ? 0 : kBelowIndent); }
  int total(std::size_t from, std::size_t to) const {
    int out = 0;
    for (std::size_t i = from; i < to; ++i) out += shape_.widths[i];
    return out;
  }

  /// Takes columns from whichever has most above `floor`, until all fit or all are there.
  template <class Floor>
  void lose(const Floor& floor) {
    while (total(0, columns_.size()) > room(0)) {
      std::size_t widest = 0;
      for (std::size_t i = 0; i < columns_.size(); ++i) {
        if (shape_.widths[i] - floor(i) > shape_.widths[widest] - floor(widest)) widest = i;
      }
      if (shape_.widths[widest] <= floor(widest)) return;
      --shape_.widths[widest];
    }
  }

  void drop_drawings() {
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      if (columns_[i].kind == ColumnKind::drawing) shape_.widths[i] = 0;
    }
  }

  /// Lines as full as they may be; texts then take what room their line has left.
  void stack() {
    std::size_t begin = 0;
    for (std::size_t i = 0; i < columns_.size();) {
      std::size_t end = i + 1;
      while (end < columns_.size() && columns_[end].stays) ++end;
      if (i > begin && total(begin, end) > room(shape_.begins.size() - 1)) shape_.begins.push_back(begin = i);
      i = end;
    }
    for (std::size_t line = 0; line < shape_.begins.size(); ++line) widen_texts(line);
  }

  void widen_texts(std::size_t line) {
    const std::size_t from = shape_.begins[line];
    const std::size_t to = line + 1 < shape_.begins.size() ? shape_.begins[line + 1] : columns_.size();
    for (std::size_t i = from; i < to; ++i) {
      const int left = room(line) - total(from, to);
      if (columns_[i].kind == ColumnKind::text)
        shape_.widths[i] += std::clamp(needed(i) - shape_.widths[i], 0, std::max(0, left));
    }
  }

  const std::vector<Column>& columns_;
  std::vector<int> contents_;
  int indent_, most_;
  Shape shape_;
};

/// A row's cells, those of texts broken where their column is narrower.
class RowWriter {
 public:
  RowWriter(const std::vector<Column>& columns, const Shape& shape, int indent, const Style& style)
      : columns_(columns), shape_(shape), indent_(indent), style_(style) {}

  std::string operator()(const std::vector<Cell>& cells) const {
    std::vector<std::vector<std::string>> parts;
    for (std::size_t i = 0; i < cells.size(); ++i) {
      const int width = shape_.widths[i] - (i == 0 ? 0 : columns_[i].gap);
      const bool broken = columns_[i].kind == ColumnKind::text && reports::columns(cells[i].text) > width;
      parts.push_back(broken ? wrapped(cells[i].text, width) : std::vector{cells[i].text});
    }
    std::string out;
    for (std::size_t at = 0; at < shape_.begins.size(); ++at) {
      const std::size_t from = shape_.begins[at];
      const std::size_t to = at + 1 < shape_.begins.size() ? shape_.begins[at + 1] : cells.size();
      std::size_t most = 1;
      bool empty = true;
      for (std::size_t i = from; i < to; ++i) {
        most = std::max(most, parts[i].size());
        empty = empty && cells[i].text.empty();
      }
      if (at > 0 && empty) continue;
      const std::string margin(indent_ + (at > 0 ? kBelowIndent : 0), ' ');
      for (std::size_t part = 0; part < most; ++part) out += margin + line(cells, parts, from, to, part) + '\n';
    }
    return out;
  }

 private:
  std::string line(const std::vector<Cell>& cells, const std::vector<std::vector<std::string>>& parts, std::size_t from,
                   std::size_t to, std::size_t part) const {
    std::string out;
    int owed = 0;  // spaces, written when something stands behind them
    for (std::size_t i = from; i < to; ++i) {
      const std::string text = shape_.widths[i] > 0 && part < parts[i].size() ? parts[i][part] : "";
      const int left = shape_.widths[i] - reports::columns(text);
      const int before = columns_[i].kind == ColumnKind::number ? left
                         : i == from                            ? 0
                                                                : std::min(left, columns_[i].gap);
      if (text.empty()) {
        owed += shape_.widths[i];
        continue;
      }
      out += std::string(std::max(0, owed + before), ' ') + (cells[i].ink ? inked(text, *cells[i].ink, style_) : text);
      owed = left - before;
    }
    return out;
  }

  const std::vector<Column>& columns_;
  const Shape& shape_;
  int indent_;
  const Style& style_;
};

}  // namespace

void Table::add_above(std::vector<std::string> titles) {
  titles.resize(columns_.size());
  above_.assign(titles.begin(), titles.end());
}

void Table::add(std::vector<Cell> cells) {
  cells.resize(columns_.size(), Cell(""));
  rows_.push_back({std::move(cells), ""});
}

void Table::add_lines(std::string lines) { rows_.push_back({{}, std::move(lines)}); }

std::string Table::text(const Style& style) const {
  std::vector<Row> rows{{}};
  bool has_titles = false;
  for (const Column& column : columns_) {
    rows[0].cells.push_back(column.title);
    has_titles = has_titles || !column.title.empty();
  }
  if (!has_titles) rows.clear();
  rows.insert(rows.end(), rows_.begin(), rows_.end());

  std::vector<int> contents(columns_.size(), 0);
  for (const Row& row : rows) {
    for (std::size_t i = 0; i < row.cells.size(); ++i) {
      contents[i] = std::max(contents[i], reports::columns(row.cells[i].text));
    }
  }
  const Shape shape = Shaper(columns_, contents, indent_, style.columns).shape();
  const RowWriter written(columns_, shape, indent_, style);
  std::string out = above_.empty() ? "" : written(above_);
  for (const Row& row : rows) out += row.cells.empty() ? row.lines : written(row.cells);
  return out;
}

}  // namespace reports
