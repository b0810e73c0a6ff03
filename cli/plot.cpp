// cli/plot.cpp -- forerun plot CHART [what its subcommand takes] -o FILE [--width N] [--scale X] [--theme THEME]
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <ostream>
#include <string_view>

#include "cli/answers.h"
#include "cli/command.h"
#include "cli/exit_code.h"
#include "cli/job_flags.h"
#include "cli/number.h"
#include "cli/output.h"
#include "cli/plots.h"
#include "cli/tool.h"
#include "cli/vary.h"
#include "core/base/fault.h"
#include "reports/html/assets.h"
#include "reports/html/drawing.h"

namespace cli {
namespace {

namespace html = reports::html;

constexpr int kLeastWidth = 200, kMostWidth = 4000;
constexpr double kMostScale = 8;

const Tool& node() {
  static const Tool tool{"node", "nodejs", "has Vega draw charts"};
  return tool;
}
const Tool& rsvg() {
  static const Tool tool{"rsvg-convert", "librsvg2-bin", "makes PNG of SVG"};
  return tool;
}

std::vector<Option> own_options() {
  return {{"--output", "FILE", "FILE.svg, FILE.png, or FILE.vg.json for Vega; -o for short; - prints SVG"},
          {"--width", "N", "pixels; 640 by default. The height follows"},
          {"--scale", "X", "PNG: pixels for each of the width's; 2 by default"},
          {"--theme", "THEME", "light, the default, or dark", false, "light dark"},
          {"--transparent", "", "no background"}};
}

std::vector<Option> plot_options() {
  std::vector<Option> out = own_options();
  out.push_back(vary_option());
  for (Option& option : search_options()) out.push_back(std::move(option));
  out.push_back(tier_option());
  return with_job_flags(std::move(out));
}

bool among(const std::vector<Option>& options, const std::string& name) {
  return std::any_of(options.begin(), options.end(), [&](const Option& option) { return option.name == name; });
}

/// Options and operands that another chart's subcommand takes.
void refuse_what_it_does_not_take(const Plot& plot, const Arguments& args) {
  const Command& command = command_of(plot);
  std::vector<base::Fault> faults;
  for (const Option& option : plot_options()) {
    if (!args.has(option.name) || among(own_options(), option.name) || among(command.options, option.name)) continue;
    faults.push_back({option.name, "does not go with a chart of `forerun " + plot.of + "`", "leave it out", {}});
  }
  if (!command.operands.back().repeatable && args.operands().size() > 2) {
    faults.push_back({args.operands()[2], "is one operand too many", plot.name + " shows one job", {}});
  }
  if (!faults.empty()) throw base::InputError(std::move(faults));
}

enum class Format { svg, png, vega };

Format format_of(const std::string& file) {
  if (file == "-" || file.ends_with(".svg")) return Format::svg;
  if (file.ends_with(".png")) return Format::png;
  if (file.ends_with(".vg.json")) return Format::vega;
  throw base::InputError({{"-o",
                           file.empty() ? "is missing" : "'" + file + "' names no format that is known",
                           "name a file that ends in .svg, .png or .vg.json",
                           {}}});
}

html::Look look_of(const Arguments& args) {
  html::Look look;
  look.width = number_of(args, "--width", look.width, kLeastWidth, kMostWidth);
  const std::string theme = args.get("--theme");
  if (!theme.empty() && theme != "light" && theme != "dark") {
    throw base::InputError({{"--theme", "there is no theme '" + theme + "'", "write light or dark", {}}});
  }
  look.dark = theme == "dark";
  look.background = !args.has("--transparent");
  return look;
}

/// All that can be missing, before anything is worked out.
void check_tools(Format format) {
  if (!html::has_vega()) {
    throw base::InputError({{"plot",
                             "this forerun was built without Vega, which draws its charts",
                             "install Debian's libjs-vega (./dev does) and build again",
                             {}}});
  }
  require(node(), "plot");
  if (format == Format::png) require(rsvg(), "-o");
}

std::string drawn(const html::Chart& chart, const html::Look& look, Format format, double scale) {
  const html::Drawn as = format == Format::vega ? html::Drawn::vega : html::Drawn::svg;
  const std::string text = output_of(node(), {"-"}, html::drawing_program(chart, look, as), "plot");
  if (format != Format::png) return text;
  return output_of(rsvg(), {"--format=png", fmt::format("--zoom={}", scale)}, text, "-o");
}

int run_plot(const Arguments& args) {
  if (args.operands().empty()) {
    throw base::InputError({{"CHART", "is missing", "name a chart; `forerun plot --help` shows all", {}}});
  }
  const Plot& plot = plot_named(args.operands().front());
  refuse_what_it_does_not_take(plot, args);
  const std::string target = args.get("--output");
  const Format format = format_of(target);
  const html::Look look = look_of(args);
  const double scale = number_of(args, "--scale", 2.0, 0.1, kMostScale);
  check_tools(format);
  const std::optional<html::Chart> chart = plot.chart(args.behind_first_operand());
  if (!chart) return kAnswered;
  if (chart->table.rows.empty()) {
    throw base::InputError({{plot.name, "has nothing to show for this", "choose another chart, or other jobs", {}}});
  }
  const std::string picture = drawn(*chart, look, format, scale);
  write_to(target, "-o", [&](std::ostream& out) { out << picture; });
  return kAnswered;
}

std::string names() {
  std::string out;
  for (const Plot& plot : plots()) out += plot.name + ' ';
  return out + "<jobs> <files>";
}

std::string notes() {
  std::string out = "charts, and the subcommand whose operands and options each takes:\n";
  for (const Plot& plot : plots()) out += fmt::format("  {:<14} {:<9} {}\n", plot.name, plot.of, plot.shows);
  return out +
         "\nNeeds the programs node and, for PNG, rsvg-convert: Debian's nodejs and librsvg2-bin.\n"
         "\nexit codes: 0 drawn, 2 the input is wrong or a program is missing\n";
}

}  // namespace

const Command plot{
    .name = "plot",
    .summary = "Draws one chart of the HTML pages as SVG or PNG, for papers and slides.",
    .operands = {{"CHART", "one of the charts below, then a JOB, JOBs or validation FILEs", true, names()}},
    .options = plot_options(),
    .notes = notes(),
    .examples = {{"forerun plot step llama3-70b-64xh100 -o step.svg", "where the time of a step goes", "nodejs"},
                 {"forerun plot memory-time llama3-70b-64xh100 --recompute full --theme dark -o memory.png",
                  "memory during the step, for a slide", "nodejs and librsvg2-bin"},
                 {"forerun plot trade-off llama3-70b-64xh100 --vary strategy.tp=2,4,8 --width 480 -o trade.svg",
                  "time against memory of three strategies", "nodejs"},
                 {"forerun plot accuracy validation/published/*.yaml -o accuracy.svg",
                  "predicted against measured steps", "the source tree and nodejs"}},
    .run = run_plot,
};

}  // namespace cli
