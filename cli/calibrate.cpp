// cli/calibrate.cpp -- forerun calibrate --from-data PATH... [--gpu NAME] [--out DIR] [--residuals DIR] [--json FILE]:
// curves of kernels and collectives from tables that others measured; without tables, from this machine's GPUs
// (calibrate_here.h). SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <ostream>

#include "cli/calibrate_here.h"
#include "cli/command.h"
#include "cli/exit_code.h"
#include "cli/output.h"
#include "cli/residual_tables.h"
#include "cli/terminal.h"
#include "core/base/near_names.h"
#include "core/base/text.h"
#include "core/config/calibration_writer.h"
#include "core/config/catalogue.h"
#include "core/config/collective_places.h"
#include "core/config/measured_kernels.h"
#include "core/config/network_calibration_writer.h"
#include "real/calibrate/drive.h"
#include "reports/kernel_calibration.h"
#include "sim/calibrate/calibrate.h"
#include "sim/calibrate/host_terms.h"
#include "sim/calibrate/networks.h"

namespace cli {
namespace {

namespace fs = std::filesystem;
using config::Catalogue;
using Faults = std::vector<base::Fault>;

/// Every broken table is told, not the first.
config::KernelTables read_tables(const Arguments& args, Faults& faults) {
  std::vector<std::string> paths = args.all("--from-data");
  paths.insert(paths.end(), args.operands().begin(), args.operands().end());
  config::KernelTables tables;
  const auto rows = [&] { return tables.rows.size() + tables.collectives.size(); };
  for (const std::string& path : paths) {
    const std::size_t before = rows();
    base::or_faults(faults, [&] {
      config::read_kernels(path, tables);
      if (rows() == before)
        faults.push_back(
            {"--from-data", "holds no row", "name a table of measured kernels or collectives", {path, 0, 0}});
    });
  }
  return tables;
}

/// What is on the shelves of the catalogue, with what is to be fitted.
struct Shelves {
  std::vector<sim::Calibratable> kernels;
  std::vector<sim::CalibratableNetwork> networks;
};

/// Every calibration; `only`: the one that is to be fitted, or empty for all that can be.
Shelves shelves(const Catalogue& catalogue, const std::string& only, Faults& faults) {
  Shelves out;
  std::vector<std::string> known;
  bool found = only.empty();
  for (const std::string& name : catalogue.names(Catalogue::Kind::calibration)) {
    sim::Calibratable one{catalogue.calibration(name, "calibration", {}, faults), {}, false};
    if (!one.calibration.gpu.empty()) {
      known.push_back(name);
      one.gpu = catalogue.gpu(config::scalar(one.calibration.gpu), "fitted_to.gpu", faults);
      one.fitted = only.empty() || only == name || only == one.calibration.gpu;
      found = found || one.fitted;
    }
    out.kernels.push_back(std::move(one));
  }
  for (const std::string& name : catalogue.network_names()) {
    known.push_back(name);
    out.networks.push_back(
        {catalogue.network_calibration(name, "calibration", {}, faults), only.empty() || only == name});
    found = found || only == name;
  }
  if (!found) {
    faults.push_back({"--gpu",
                      "no calibration '" + only + "' is fitted to tables",
                      base::nearest_or(only, known, "name a calibration with fitted_to, or a kind of link"),
                      {}});
  }
  return out;
}

/// The lines above the first key of a file, without their marks.
std::string comment_of(const std::string& path) {
  std::ifstream in(path);
  std::string out;
  for (std::string line; std::getline(in, line) && line.starts_with("#");) {
    out += line.substr(std::min<std::size_t>(2, line.size())) + '\n';
  }
  return out;
}

void write_calibrations(const std::vector<spec::Calibration>& all, const Catalogue& catalogue,
                        const std::string& folder) {
  std::error_code error;
  fs::create_directories(folder, error);  // what is wrong with it, the first file tells
  for (const spec::Calibration& one : all) {
    const std::string comment = comment_of(catalogue.path(Catalogue::Kind::calibration, one.name));
    write_to(fs::path(folder) / (one.name + ".yaml"), "--out",
             [&](std::ostream& out) { out << config::calibration_yaml(one, comment); });
  }
}

void write_networks(const std::vector<spec::NetworkCalibration>& all, const Catalogue& catalogue,
                    const std::string& folder) {
  const fs::path below = fs::path(folder) / "network";
  std::error_code error;
  fs::create_directories(below, error);
  for (const spec::NetworkCalibration& one : all) {
    const std::string comment = comment_of(catalogue.network_path(one.name));
    write_to(below / (one.name + ".yaml"), "--out",
             [&](std::ostream& out) { out << config::network_calibration_yaml(one, comment); });
  }
}

std::vector<spec::Framework> frameworks(const Catalogue& catalogue, Faults& faults) {
  std::vector<spec::Framework> out;
  for (const std::string& name : catalogue.names(Catalogue::Kind::framework))
    out.push_back(catalogue.framework(config::scalar(name), "framework", faults));
  return out;
}

void tell(const result::KernelCalibration& report, const Arguments& args) {
  if (args.has("--residuals")) write_residuals(report.residuals, args.get("--residuals"));
  write_if_asked(args, "--json", [&] { return reports::kernel_calibration_json(report); });
  if (args.get("--json") != "-") print(reports::kernel_calibration_text(report, stdout_style()));
}

int from_data(const Arguments& args) {
  Faults faults;
  const Catalogue catalogue = Catalogue::find();
  const Shelves curves = shelves(catalogue, args.get("--gpu"), faults);
  const std::vector<spec::Framework> hosts = frameworks(catalogue, faults);
  const config::KernelTables tables = read_tables(args, faults);
  if (!faults.empty()) throw base::InputError(std::move(faults));
  result::KernelCalibration report;
  if (!tables.rows.empty()) {
    sim::FittedCalibrations found = sim::calibrate_kernels(tables, curves.kernels);
    report = std::move(found.report);
    if (args.has("--out")) write_calibrations(found.calibrations, catalogue, args.get("--out"));
    for (const std::string& line : sim::host_terms(hosts)) report.assumed.push_back(line);
  } else {
    report.left_out = tables.left_out;
  }
  if (!tables.collectives.empty()) {
    const auto places = config::read_places(catalogue.root() + "/topologies/collective_places.yaml", catalogue);
    const auto found = sim::calibrate_networks(tables, places, curves.networks, report);
    if (args.has("--out")) write_networks(found, catalogue, args.get("--out"));
  }
  tell(report, args);
  return kAnswered;
}

/// Needs no GPU, and fits no curve: a node's file has what drives do.
int time_drives(const Arguments& args) {
  for (const char* option : {"--minutes", "--gpus", "--node", "--fabric", "--resume", "--from-data", "--gpu", "--out",
                             "--residuals", "--json"}) {
    if (args.has(option)) throw base::InputError({{option, "stands beside --drive", "time drives by themselves", {}}});
  }
  const std::string folder = args.get("--drive");
  print(real::text(real::drive_rates(folder), folder));
  return kAnswered;
}

int run_calibrate(const Arguments& args) {
  if (args.has("--drive")) return time_drives(args);
  if (args.has("--from-data")) {
    for (const char* option : {"--minutes", "--gpus", "--node", "--fabric", "--resume"}) {
      if (args.has(option)) throw base::InputError({{option, "belongs to timing GPUs", "leave --from-data out", {}}});
    }
    return from_data(args);
  }
  if (!args.operands().empty()) {
    throw base::InputError(
        {{"PATH", "tables are named behind --from-data", "write forerun calibrate --from-data PATH...", {}}});
  }
  return calibrate_here(args);
}

}  // namespace

const Command calibrate{
    .name = "calibrate",
    .summary = "Fits the curves that kernels and collectives are priced by, to this machine's GPUs or to tables.",
    .operands = {{"PATH", "more tables for --from-data", true, "<files>"}},
    .options = {{"--minutes", "N", "time this machine's GPU for so long, most valuable points first; 5 when not given"},
                {"--gpus", "N", "GPUs of this machine to take; collectives are timed from 2 on; 1 when not given"},
                {"--node", "NAME", "what this machine is; found by its GPU when not given", false, "<nodes> <files>"},
                {"--fabric", "FABRIC",
                 "what joins several nodes, where their points are fitted; the node's own unless given", false,
                 "<fabrics> <files>"},
                {"--resume", "FILE", "go on with the points of a run before; --minutes 0 only fits to them"},
                {"--drive", "DIR",
                 "what the drives behind this folder write and read, 10 s each way: a node's nvme; needs no GPU"},
                {"--from-data", "PATH",
                 "a table of measured kernels or collectives (.csv, .jsonl, or either packed as .gz); repeatable", true,
                 "<files>"},
                {"--gpu", "NAME", "fit this calibration alone, e.g. h100-sxm or nvlink4", false, "<calibrations>"},
                {"--out", "DIR", "write calibration files there (of links: below network/); timing here: this folder"},
                {"--residuals", "DIR", "write measured and predicted times there, a CSV file a family of kernels"},
                {"--json", "FILE", "write errors before and after as JSON; - for stdout"}},
    .notes =
        "Without --from-data kernels, copies and collectives are timed on this machine's GPUs; exit code 3 where there "
        "is none.\n"
        "Several nodes are timed by their own launcher, and fitted to here (docs/real-mode.md):\n"
        "  srun -N 2 --ntasks-per-node 8 forerun-worker calibrate net.points.jsonl --seconds 300 --date DATE "
        "--collectives\n"
        "  forerun calibrate --minutes 0 --resume net.points.jsonl\n"
        "Every point is written as it is timed, so that --resume goes on with a run that was cut: "
        "docs/real-mode.md.\n"
        "docs/prices.md has the layouts of the tables and what is fitted to which rows, docs/network.md those of "
        "collectives; topologies/collective_places.yaml says which rows ran on which cluster.\n",
    .examples = {{"forerun calibrate --minutes 5", "curves of this machine's GPU", "a GPU"},
                 {"forerun calibrate --from-data kernels.jsonl.gz kernels_gemm.csv.gz collectives.jsonl --out curves",
                  "curves of kernels and collectives", "tables of measurements"}},
    .run = run_calibrate,
};

}  // namespace cli
