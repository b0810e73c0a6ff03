// SPDX-License-Identifier: Apache-2.0
#include "cli/calibrate_here.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <ctime>
#include <filesystem>
#include <ostream>

#include "cli/exit_code.h"
#include "cli/number.h"
#include "cli/output.h"
#include "cli/terminal.h"
#include "cli/worker.h"
#include "core/base/fault.h"
#include "core/config/calibration_writer.h"
#include "core/config/catalogue.h"
#include "core/config/network_calibration_writer.h"
#include "real/calibrate/figures.h"
#include "real/calibrate/machine_like.h"
#include "real/calibrate/tables.h"
#include "reports/kernel_calibration.h"
#include "sim/calibrate/calibrate.h"
#include "sim/calibrate/networks.h"

namespace cli {
namespace {

namespace fs = std::filesystem;
using config::Catalogue;

constexpr int kUsualMinutes = 5, kMostMinutes = 600, kMostGpus = 1024;

struct Wanted {
  int minutes = kUsualMinutes, gpus = 1;
  bool resumes = false;
  std::string points = {}, folder = {};  // the file of points; where calibrations go
  std::string date = {};
};

Wanted wanted(const Arguments& args) {
  for (const char* option : {"--gpu", "--residuals"}) {
    if (args.has(option)) throw base::InputError({{option, "belongs to --from-data", "leave it out", {}}});
  }
  Wanted out{.minutes = number_of(args, "--minutes", kUsualMinutes, 0, kMostMinutes),
             .gpus = number_of(args, "--gpus", 1, 1, kMostGpus),
             .resumes = args.has("--resume"),
             .date = fmt::format("{:%Y-%m-%d}", fmt::gmtime(std::time(nullptr)))};
  if (out.minutes == 0 && !out.resumes) {
    throw base::InputError({{"--minutes", "0 times nothing", "name the points to fit to by --resume FILE", {}}});
  }
  out.folder = args.get("--out");
  if (out.resumes) {
    out.points = args.get("--resume");
    if (out.folder.empty()) out.folder = fs::path(out.points).parent_path();
  } else {
    out.points = fs::path(out.folder) / ("calibration-" + out.date + ".points.jsonl");
  }
  return out;
}

/// The exit code of the workers. What they had timed before one failed stays.
int time_points(const Wanted& wanted) {
  std::error_code error;
  if (!wanted.folder.empty()) fs::create_directories(wanted.folder, error);  // what is wrong with it, the file tells
  std::vector<std::string> words{"calibrate", wanted.points, "--seconds",
                                 std::to_string(60 * wanted.minutes)};
  words.insert(words.end(), {"--date", wanted.date});
  if (wanted.resumes) words.emplace_back("--resume");
  try {
    return verdict_on(run_workers(wanted.gpus, words));
  } catch (const base::DeviceError& failed) {
    if (!fs::exists(wanted.points, error)) throw;
    throw base::DeviceError(failed.what() + ("\n  mend: what was timed is kept; go on by --resume " + wanted.points));
  }
}

config::Value named(const std::string& name) {
  config::Value out;
  out.kind = config::Value::Kind::scalar;
  out.text = name;
  out.where = {"--node " + name, 0, 0};
  return out;
}

/// The node of the catalogue that the points were timed on.
spec::Node node_of(const Arguments& args, const Wanted& wanted, const real::Machine& machine,
                   const Catalogue& catalogue) {
  const std::string again = fmt::format("--resume {} --minutes 0 --node NAME", wanted.points);
  std::string name = args.get("--node");
  if (name.empty()) {
    const std::vector<std::string> like = real::nodes_like(machine, catalogue);
    if (like.empty()) {
      throw base::InputError(
          {{"--node",
            fmt::format("is missing, and no one GPU of the catalogue is {} with {} SMs", machine.gpu, machine.sms),
            "name this machine's entry of `forerun list nodes`, or a file: " + again,
            {}}});
    }
    name = like.front();
  }
  config::Faults faults;
  spec::Node node = catalogue.node(named(name), "--node", faults);
  if (!faults.empty()) throw base::InputError(std::move(faults));
  if (const std::string why = real::why_not(node.gpu, machine); !why.empty()) {
    throw base::InputError(
        {{"--node", name + " is not where the points were timed: " + why, "name another one: " + again, {}}});
  }
  return node;
}

std::string comment_of(const real::Points& points, const real::Figures& figures) {
  std::string out =
      "Timed by " + real::source_of(points.machine) +
      "\nHow each number is used: docs/prices.md. A source that begins with \"forerun on\" was timed here; "
      "any other is the catalogue's.\n";
  for (const std::string& line : real::lines(figures)) out += line + '\n';
  return out;
}

/// What was written, and what the fits say.
struct Written {
  std::string curves, links;
  result::KernelCalibration report;
};

void fit_links(const config::KernelTables& tables, const spec::Node& node, const std::string& folder,
               const std::string& comment, const std::string& name, Written& out) {
  if (tables.collectives.empty()) return;
  config::Place here;
  here.cluster.node = node;
  spec::NetworkCalibration links = sim::calibrate_networks(tables, {here}, {{node.links, true}}, out.report).front();
  links.name = name + "-links";
  out.links = fs::path(folder) / (links.name + ".yaml");
  write_to(out.links, "--out", [&](std::ostream& file) { file << config::network_calibration_yaml(links, comment); });
}

Written fit(const real::Points& points, const spec::Node& node, const std::string& folder) {
  const std::string name = node.name + '-' + points.machine.date;
  const config::KernelTables tables = real::tables_of(points, node.gpu);
  const real::Figures figures = real::figures_of(points, node.gpu);
  spec::Calibration begin = real::calibration_for(points, node.gpu, node.calibration, name);
  real::apply(figures, points.machine, begin);
  const sim::FittedCalibrations found = sim::calibrate_kernels(tables, {{begin, node.gpu, true}});
  Written out{.curves = fs::path(folder) / (name + ".yaml"), .links = {}, .report = found.report};
  const std::string comment = comment_of(points, figures);
  write_to(out.curves, "--out",
           [&](std::ostream& file) { file << config::calibration_yaml(found.calibrations.front(), comment); });
  fit_links(tables, node, folder, comment, name, out);
  return out;
}

void tell(const Written& written, const real::Figures& figures, const Arguments& args) {
  write_if_asked(args, "--json", [&] { return reports::kernel_calibration_json(written.report); });
  if (args.get("--json") == "-") return;
  std::string text = reports::kernel_calibration_text(written.report, stdout_style()) + '\n';
  for (const std::string& line : real::lines(figures)) text += line + '\n';
  text += fmt::format("\nwritten: {}\n  forerun predict JOB --calibration {}\n", written.curves, written.curves);
  if (!written.links.empty()) {
    text +=
        fmt::format("written: {}\n  forerun predict JOB --set cluster.node.links={}\n", written.links, written.links);
  }
  print(text);
}

}  // namespace

int calibrate_here(const Arguments& args) {
  const Wanted what = wanted(args);
  if (what.minutes > 0) {
    if (const int code = time_points(what); code != kAnswered) return code;
  }
  const real::Points points = real::read_points(what.points);
  const spec::Node node = node_of(args, what, points.machine, Catalogue::find());
  tell(fit(points, node, what.folder), real::figures_of(points, node.gpu), args);
  return kAnswered;
}

}  // namespace cli
