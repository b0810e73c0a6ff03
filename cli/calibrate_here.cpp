// SPDX-License-Identifier: Apache-2.0
#include "cli/calibrate_here.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <ctime>
#include <filesystem>
#include <ostream>

#include "cli/collective_cluster.h"
#include "cli/exit_code.h"
#include "cli/number.h"
#include "cli/output.h"
#include "cli/residual_tables.h"
#include "cli/terminal.h"
#include "cli/worker.h"
#include "core/base/fault.h"
#include "core/config/calibration_writer.h"
#include "core/config/catalogue.h"
#include "core/config/network_calibration_writer.h"
#include "core/spec/ranges.h"
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

constexpr int kUsualMinutes = 5, kMostMinutes = 600;

struct Wanted {
  int minutes = kUsualMinutes, gpus = 1;
  bool resumes = false;
  std::string points = {}, folder = {};  // the file of points; where calibrations go
  std::string date = {};
};

Wanted wanted(const Arguments& args) {
  if (args.has("--gpu")) throw base::InputError({{"--gpu", "belongs to --from-data", "leave it out", {}}});
  Wanted out{.minutes = number_of(args, "--minutes", kUsualMinutes, 0, kMostMinutes),
             .gpus = number_of<int>(args, "--gpus", 1, 1, spec::kMostGpusOfANode),
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
  std::vector<std::string> words{"calibrate", wanted.points, "--seconds", std::to_string(60 * wanted.minutes)};
  words.insert(words.end(), {"--date", wanted.date});
  if (wanted.resumes) words.emplace_back("--resume");
  try {
    return verdict_on(run_workers(wanted.gpus, words));
  } catch (const base::DeviceError& failed) {
    if (!fs::exists(wanted.points, error)) throw;
    throw base::DeviceError(failed.what() + ("\n  mend: what was timed is kept; go on by --resume " + wanted.points));
  }
}

/// The node of the catalogue that the points were timed on, and what joined several.
config::Place place_of(const Arguments& args, const Wanted& wanted, const real::Machine& machine,
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
  const config::Value written = config::scalar(name, {"--node " + name, 0, 0});
  config::Faults faults;
  config::Place out;
  spec::Node& node = out.cluster.node;
  node = catalogue.node(written, "--node", faults);
  if (!faults.empty()) throw base::InputError(std::move(faults));
  if (const std::string why = real::why_not(node.gpu, machine); !why.empty()) {
    throw base::InputError(
        {{"--node", name + " is not where the points were timed: " + why, "name another one: " + again, {}}});
  }
  const config::Value tree = catalogue.expanded(Catalogue::Kind::node, written, "--node", faults);
  const auto fabric = fabric_from(args, tree, catalogue, faults);
  if (!faults.empty()) throw base::InputError(std::move(faults));
  if (fabric) out.cluster.fabric = *fabric;
  if (!fabric && machine.nodes > 1) {
    throw base::InputError(
        {{"--fabric",
          fmt::format("is missing: {} nodes took part, and {} has no fabric of its own", machine.nodes, name),
          "name how they are joined, one of `forerun list fabrics`",
          {}}});
  }
  spec::assemble(out.cluster);
  return out;
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
  std::string curves = {}, links = {}, fabric = {};  // empty: no point tells any
  std::string fabric_name = {};
  result::KernelCalibration report = {};
};

class Fit {
 public:
  Fit(const real::Points& points, const config::Place& here, std::string folder)
      : points_(points),
        here_(here),
        folder_(std::move(folder)),
        tables_(real::tables_of(points, node().gpu)),
        figures_(real::figures_of(points, node().gpu)),
        comment_(comment_of(points, figures_)),
        name_(node().name + '-' + points.machine.date) {}

  Written run() && {
    // A run of collectives alone draws no curve of kernels.
    if (!tables_.rows.empty() || tables_.collectives.empty()) fit_kernels();
    if (!tables_.collectives.empty()) fit_networks();
    return std::move(out_);
  }

 private:
  const spec::Node& node() const { return here_.cluster.node; }

  void fit_kernels() {
    spec::Calibration begin = real::calibration_for(points_, node().gpu, node().calibration, name_);
    real::apply(figures_, points_.machine, begin);
    const sim::FittedCalibrations found = sim::calibrate_kernels(tables_, {{begin, node().gpu, true}});
    out_.report = found.report;
    out_.curves = file(name_);
    write_to(out_.curves, "--out",
             [&](std::ostream& file) { file << config::calibration_yaml(found.calibrations.front(), comment_); });
  }

  void fit_networks() {
    std::vector<sim::CalibratableNetwork> shelf{{node().links, true}};
    const bool several = points_.machine.nodes > 1;
    if (several) shelf.push_back({here_.cluster.fabric.calibration, true});
    auto found = sim::calibrate_networks(tables_, {here_}, shelf, out_.report);
    if (points_.machine.gpus > 1) out_.links = write(found.front(), "-links");
    if (!several) return;
    out_.fabric = write(found.back(), "-fabric");
    out_.fabric_name = here_.cluster.fabric.name;
  }

  std::string write(spec::NetworkCalibration& network, const char* what) {
    network.name = name_ + what;
    const std::string path = file(network.name);
    write_to(path, "--out", [&](std::ostream& file) { file << config::network_calibration_yaml(network, comment_); });
    return path;
  }

  std::string file(const std::string& name) const { return fs::path(folder_) / (name + ".yaml"); }

  const real::Points& points_;
  const config::Place& here_;
  const std::string folder_;
  const config::KernelTables tables_;
  const real::Figures figures_;
  const std::string comment_, name_;
  Written out_;
};

void tell(const Written& written, const real::Figures& figures, const Arguments& args) {
  if (args.has("--residuals")) write_residuals(written.report.residuals, args.get("--residuals"));
  write_if_asked(args, "--json", [&] { return reports::kernel_calibration_json(written.report); });
  if (args.get("--json") == "-") return;
  std::string text = reports::kernel_calibration_text(written.report, stdout_style()) + '\n';
  for (const std::string& line : real::lines(figures)) text += line + '\n';
  const auto wrote = [&](const std::string& path, const std::string& flags) {
    if (!path.empty()) text += fmt::format("written: {}\n  forerun predict JOB {}\n", path, flags);
  };
  text += '\n';
  wrote(written.curves, "--calibration " + written.curves);
  wrote(written.links, "--set cluster.node.links=" + written.links);
  wrote(written.fabric,
        fmt::format("--set 'cluster.fabric={{base: {}, calibration: {}}}'", written.fabric_name, written.fabric));
  print(text);
}

}  // namespace

int calibrate_here(const Arguments& args) {
  const Wanted what = wanted(args);
  if (what.minutes > 0) {
    if (const int code = time_points(what); code != kAnswered) return code;
  }
  const real::Points points = real::read_points(what.points);
  const config::Place here = place_of(args, what, points.machine, Catalogue::find());
  tell(Fit(points, here, what.folder).run(), real::figures_of(points, here.cluster.node.gpu), args);
  return kAnswered;
}

}  // namespace cli
