// cli/import_network.cpp -- forerun import nccl-tests LOG... --node NODE [--nodes N] [--fabric F] -o FILE: a machine's
// own curves. SPDX-License-Identifier: Apache-2.0
#include "cli/import.h"

#include <ostream>

#include "cli/collective_cluster.h"
#include "cli/exit_code.h"
#include "cli/output.h"
#include "cli/terminal.h"
#include "core/base/text.h"
#include "core/config/nccl_log.h"
#include "core/config/network_calibration_writer.h"
#include "reports/network_import.h"
#include "sim/calibrate/nccl_logs.h"

namespace cli {
namespace {

using Faults = std::vector<base::Fault>;

void check_words(const Arguments& args, Faults& faults) {
  const std::vector<std::string>& words = args.operands();
  if (words.size() < 2) faults.push_back({"LOG", "is missing", "name files with the output of nccl-tests", {}});
  if (!args.has("--output")) faults.push_back({"-o", "is missing", "name the calibration file to write", {}});
}

/// Every broken log is told, not the first.
std::vector<config::NcclLog> read(const Arguments& args, Faults& faults) {
  std::vector<config::NcclLog> logs;
  for (std::size_t i = 1; i < args.operands().size(); ++i) {
    base::or_faults(faults, [&] {
      for (config::NcclLog& log : config::read_nccl_log(args.operands()[i])) logs.push_back(std::move(log));
    });
  }
  return logs;
}

}  // namespace

int import_network(const Arguments& args) {
  Faults faults;
  check_words(args, faults);
  if (!faults.empty()) throw base::InputError(std::move(faults));
  const CollectiveCluster on = cluster_from(args, config::Catalogue::find(), faults);
  const std::vector<config::NcclLog> logs = read(args, faults);
  if (!faults.empty()) throw base::InputError(std::move(faults));

  const sim::CalibratedNetwork found = sim::calibrate(logs, on.cluster, args.has("--nodes"), on.gpus);
  const std::string key = found.fabric ? "a fabric's `calibration:`" : "a node's `links:`";
  const std::string target = args.get("--output");
  write_to(target, "-o", [&](std::ostream& out) {
    out << config::network_calibration_yaml(
        found.calibration, "Curves of collectives, imported from nccl-tests; named by " + key + ". docs/network.md.\n" +
                               found.report.path + ", fitted from " + found.report.base + ".");
  });
  if (target == "-") return kAnswered;
  print(reports::network_import_text(found.report, stdout_style()) + "wrote " + target + "; name it in " + key + '\n');
  return kAnswered;
}

}  // namespace cli
