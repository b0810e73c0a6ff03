// reports/table.h -- a table that fits the screen. Where its lines are too wide, in this order: columns lose the room
// between them, texts are broken over lines, drawings go, and the last columns stand on lines of their own.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "reports/style.h"

namespace reports {

struct Column {
  enum class Kind { number, text, drawing };  // to the right; to the left; to the left, and tells nothing by itself

  std::string title;
  Kind kind = Kind::number;
  int width = 0;       // wished; the room before a number counts
  int gap = 1;         // least room before it; the first has none
  bool stays = false;  // on the line of the column before it
};

struct Cell {
  Cell(std::string text, std::optional<Ink> ink = {}) : text(std::move(text)), ink(ink) {}
  Cell(const char* text) : text(text) {}

  std::string text;
  std::optional<Ink> ink;
};

class Table {
 public:
  /// Every line begins with `indent` spaces.
  Table(int indent, std::vector<Column> columns) : indent_(indent), columns_(std::move(columns)) {}

  /// A line above the titles, where an entry may spill over empty ones before it.
  void add_above(std::vector<std::string> titles);
  /// A cell for each column; those left out at the end are empty.
  void add(std::vector<Cell> cells);
  /// Lines as they are, between the rows; end with a newline.
  void add_lines(std::string lines);

  /// The titles, where there are any, and all rows; ends with a newline.
  std::string text(const Style&) const;

 private:
  struct Row {
    std::vector<Cell> cells;
    std::string lines;  // instead of cells
  };

  int indent_;
  std::vector<Column> columns_;
  std::vector<Cell> above_;
  std::vector<Row> rows_;
};

}  // namespace reports
