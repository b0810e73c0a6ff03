// SPDX-License-Identifier: Apache-2.0
#include "reports/html/page.h"

#include <ostream>

#include "reports/html/assets.h"
#include "reports/html/escape.h"

namespace reports::html {
namespace {

// Nothing is fetched, whatever a name in the report says. Vega makes functions of its specifications' expressions.
constexpr char kPolicy[] =
    "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline' 'unsafe-eval'; img-src data:";

void write_head(const Page& page, std::ostream& out) {
  out << "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
         "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
         "<meta name=\"color-scheme\" content=\"light dark\">\n"
         "<meta http-equiv=\"Content-Security-Policy\" content=\""
      << kPolicy << "\">\n<meta name=\"generator\" content=\"forerun " << escaped(page.version)
      << "\">\n<title>forerun " << escaped(page.command) << ": " << escaped(page.title) << "</title>\n<style>\n";
  for (const Asset& asset : assets()) {
    if (asset.name.ends_with(".css")) out << asset.text;
  }
  out << "</style>\n</head>\n";
}

void write_top(const Page& page, std::ostream& out) {
  out << "<body>\n<a class=\"skip\" href=\"#answer\">Skip to the answer</a>\n"
         "<header class=\"top\"><p class=\"brand\">forerun <span>"
      << escaped(page.command) << "</span></p>\n<nav aria-label=\"Sections\"><ul>";
  for (const Section& section : page.sections) {
    if (section.body.empty()) continue;
    out << "<li><a href=\"#" << escaped(section.id) << "\">" << escaped(section.title) << "</a></li>";
  }
  out << "</ul></nav>\n<button type=\"button\" id=\"theme\" hidden>Dark</button></header>\n";
}

void write_answer(const Page& page, std::ostream& out) {
  out << "<section id=\"answer\" class=\"" << (page.bad ? "answer bad" : "answer") << "\" aria-labelledby=\"asked\">\n"
      << "<h1 id=\"asked\">" << escaped(page.title) << "</h1>\n<p class=\"lead\">" << escaped(page.answer) << "</p>\n";
  if (!page.figures.empty()) out << "<dl class=\"figures\">";
  for (const KeyFigure& figure : page.figures) {
    out << "<div><dt>" << escaped(figure.label) << "</dt><dd>" << escaped(figure.value);
    if (!figure.note.empty()) out << "<small>" << escaped(figure.note) << "</small>";
    out << "</dd></div>";
  }
  if (!page.figures.empty()) out << "</dl>";
  out << "\n</section>\n";
}

/// <script> elements: the charts' specifications as data, then Vega, then our own in the order of their names.
void write_scripts(std::ostream& out) {
  out << "<script type=\"application/json\" id=\"charts\">{";
  const char* comma = "";
  for (const Asset& asset : assets()) {
    if (!asset.name.ends_with(".vg.json")) continue;
    const std::string_view name = asset.name.substr(0, asset.name.find('.'));
    out << comma << '"' << name << "\":" << script_json(Json::parse(asset.text));
    comma = ",\n";
  }
  out << "}</script>\n";
  for (const bool ours : {false, true}) {
    for (const Asset& asset : assets()) {
      if (!asset.name.ends_with(".js") || (asset.name != "vega.js") != ours) continue;
      out << "<script>\n" << asset.text << "</script>\n";
    }
  }
}

}  // namespace

void write(const Page& page, std::ostream& out) {
  write_head(page, out);
  write_top(page, out);
  out << "<main id=\"main\">\n";
  write_answer(page, out);
  for (const Section& section : page.sections) {
    if (section.body.empty()) continue;
    const std::string id = escaped(section.id);
    out << "<section id=\"" << id << "\" aria-labelledby=\"" << id << "-title\">\n<h2 id=\"" << id << "-title\">"
        << escaped(section.title) << "</h2>\n"
        << section.body << "</section>\n";
  }
  out << "</main>\n<footer><p>forerun " << escaped(page.version) << "</p></footer>\n";
  write_scripts(out);
  out << "</body>\n</html>\n";
}

std::string list_of(const std::vector<std::string>& lines) {
  if (lines.empty()) return "";
  std::string out = "<ul>";
  for (const std::string& line : lines) out += "<li>" + escaped(line) + "</li>";
  return out + "</ul>\n";
}

std::string paragraph_of(const std::string& text) { return "<p>" + escaped(text) + "</p>\n"; }

}  // namespace reports::html
