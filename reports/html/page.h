// reports/html/page.h -- a page's frame: one file that opens offline, asks no other machine for anything, and holds
// style, scripts and charts. What it says is the sections' affair. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

namespace reports::html {

/// A figure at the top, in large letters.
struct KeyFigure {
  std::string label, value, note;
};

/// `body` is HTML: its writer has escaped what came from files. Empty: the section is left out.
struct Section {
  std::string id, title, body;
};

struct Page {
  std::string command;  // "predict"
  std::string title;    // what was asked, one line
  std::string answer;   // in one sentence, plain text
  bool bad = false;     // the answer is that it cannot be done
  std::vector<KeyFigure> figures;
  std::vector<Section> sections;
  std::string version;  // of forerun
};

/// REQUIRES: has_vega(). The same page gives the same bytes.
void write(const Page&, std::ostream&);

/// <ul>; nothing where there are none.
std::string list_of(const std::vector<std::string>& lines);
std::string paragraph_of(const std::string& text);

}  // namespace reports::html
