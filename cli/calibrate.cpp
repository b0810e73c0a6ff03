// cli/calibrate.cpp -- forerun calibrate --from-data PATH... [--gpu NAME] [--out DIR] [--residuals DIR] [--json FILE]:
// curves of kernels from tables that others measured. SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <ostream>

#include "cli/command.h"
#include "cli/exit_code.h"
#include "cli/output.h"
#include "core/base/text.h"
#include "core/config/calibration_writer.h"
#include "core/config/catalogue.h"
#include "core/config/measured_kernels.h"
#include "reports/kernel_calibration.h"
#include "sim/calibrate/calibrate.h"

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
  for (const std::string& path : paths) {
    try {
      config::read_kernels(path, tables);
    } catch (const base::InputError& error) {
      faults.insert(faults.end(), error.faults.begin(), error.faults.end());
    }
  }
  return tables;
}

spec::Gpu gpu_named(const std::string& name, const Catalogue& catalogue, Faults& faults) {
  config::Value at;
  at.kind = config::Value::Kind::scalar;
  at.text = name;
  return catalogue.gpu(at, "fitted_to.gpu", faults);
}

/// Every calibration of the catalogue; `only`: the one that is to be fitted, or empty for all that name a GPU.
std::vector<sim::Calibratable> shelf(const Catalogue& catalogue, const std::string& only, Faults& faults) {
  std::vector<sim::Calibratable> out;
  std::vector<std::string> known;
  for (const std::string& name : catalogue.names(Catalogue::Kind::calibration)) {
    sim::Calibratable one{catalogue.calibration(name, {}, faults), {}, false};
    if (!one.calibration.gpu.empty()) {
      known.push_back(name);
      one.gpu = gpu_named(one.calibration.gpu, catalogue, faults);
      one.fitted = only.empty() || only == name || only == one.calibration.gpu;
    }
    out.push_back(std::move(one));
  }
  if (std::none_of(out.begin(), out.end(), [](const sim::Calibratable& one) { return one.fitted; })) {
    const auto near = base::nearest(only, known);
    faults.push_back({"--gpu",
                      "no calibration '" + only + "' is fitted to tables",
                      near ? "did you mean " + *near + "?" : "name a calibration with fitted_to",
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

void write_residuals(const std::vector<result::ResidualTable>& tables, const std::string& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  for (const result::ResidualTable& table : tables) {
    write_to(fs::path(folder) / (table.name + ".csv"), "--residuals",
             [&](std::ostream& out) { out << reports::residuals_csv(table); });
  }
}

int from_data(const Arguments& args) {
  Faults faults;
  const Catalogue catalogue = Catalogue::find();
  const std::vector<sim::Calibratable> curves = shelf(catalogue, args.get("--gpu"), faults);
  const config::KernelTables tables = read_tables(args, faults);
  if (!faults.empty()) throw base::InputError(std::move(faults));
  const sim::FittedCalibrations found = sim::calibrate_kernels(tables, curves);
  if (args.has("--out")) write_calibrations(found.calibrations, catalogue, args.get("--out"));
  if (args.has("--residuals")) write_residuals(found.report.residuals, args.get("--residuals"));
  if (args.has("--json")) {
    write_to(args.get("--json"), "--json",
             [&](std::ostream& out) { out << reports::kernel_calibration_json(found.report); });
  }
  if (args.get("--json") != "-") print(reports::kernel_calibration_text(found.report));
  return kAnswered;
}

int run(const Arguments& args) {
  if (args.has("--from-data")) return from_data(args);
  if (!args.operands().empty()) {
    throw base::InputError(
        {{"PATH", "tables are named behind --from-data", "write forerun calibrate --from-data PATH...", {}}});
  }
  std::cerr << "error: measuring kernels needs a GPU, and none is here; --from-data fits curves to tables\n";
  return kDeviceFailed;
}

}  // namespace

const Command calibrate{
    .name = "calibrate",
    .summary = "Fits the curves that kernels are priced by.",
    .operands = {{"PATH", "more tables for --from-data", true}},
    .options = {{"--from-data", "PATH",
                 "a table of measured kernels (.csv, .jsonl, or either packed as .gz); repeatable", true},
                {"--gpu", "NAME", "fit this calibration alone, e.g. h100-sxm"},
                {"--out", "DIR", "write the calibration files there"},
                {"--residuals", "DIR", "write measured and predicted times there, a CSV file a family of kernels"},
                {"--json", "FILE", "write errors before and after as JSON; - for stdout"}},
    .notes =
        "forerun calibrate --from-data kernels.jsonl.gz kernels_gemm.csv.gz --out topologies/calibrations\n"
        "docs/prices.md has the layouts of the tables and what is fitted to which rows.\n",
    .run = run,
};

}  // namespace cli
