// SPDX-License-Identifier: Apache-2.0
#include "cli/show_collective.h"

#include <cmath>

#include "cli/collective_cluster.h"
#include "cli/exit_code.h"
#include "cli/joined_names.h"
#include "cli/output.h"
#include "cli/terminal.h"
#include "core/base/near_names.h"
#include "core/base/text.h"
#include "reports/collectives.h"
#include "sim/network/collective_table.h"

namespace cli {
namespace {

using Faults = std::vector<base::Fault>;

constexpr const char* kUsage = "write forerun show collective all_reduce --node dgx-h100 --nodes 4";

plan::CollectiveKind kind_from(const Arguments& args, Faults& faults) {
  const std::vector<std::string>& words = args.operands();
  if (words.size() < 2) {
    faults.push_back({"OP", "is missing", kUsage, {}});
    return {};
  }
  if (words.size() > 2) faults.push_back({"OP", "'" + words[2] + "' is one operand too many", kUsage, {}});
  if (const auto kind = sim::collective_named(words[1])) return *kind;
  faults.push_back(
      {"OP",
       "there is no collective '" + words[1] + "'",
       base::nearest_and(words[1], sim::collective_names(), "known: " + base::joined(sim::collective_names(), " ")),
       {}});
  return {};
}

spec::Algorithm algorithm_from(const Arguments& args, Faults& faults) {
  if (!args.has("--algorithm")) return spec::Algorithm::automatic;
  const std::string word = args.get("--algorithm");
  if (const auto found = spec::named<spec::Algorithm>(word)) return *found;
  faults.push_back({"--algorithm",
                    "'" + word + "' is not known",
                    std::string("write one of ") + joined_names<spec::Algorithm>(),
                    {}});
  return spec::Algorithm::automatic;
}

/// "8" is 8 bytes; "8GB" and "1MiB" carry their unit.
std::int64_t size_from(const Arguments& args, const std::string& option, std::int64_t otherwise, Faults& faults) {
  if (!args.has(option)) return otherwise;
  const std::string text = args.get(option);
  const bool plain = text.find_first_not_of("0123456789") == std::string::npos;
  const auto parsed = base::parse_bytes(plain ? text + "B" : text);
  if (parsed.value && parsed.value->si() >= 1 && parsed.value->si() <= 1e15) return std::llround(parsed.value->si());
  faults.push_back({option,
                    parsed.value ? "'" + text + "' is below 1 byte or above 10^15" : parsed.problem,
                    parsed.value ? "write a size such as 8, 1MiB or 8GB" : parsed.mend,
                    {}});
  return otherwise;
}

/// Doublings from `least`, as `-f 2` of nccl-tests steps, and `most` itself.
std::vector<std::int64_t> sizes_from(const Arguments& args, Faults& faults) {
  const std::int64_t least = size_from(args, "--min", 8, faults);
  const std::int64_t most = size_from(args, "--max", std::int64_t{8} << 30, faults);
  if (least > most) {
    faults.push_back({"--min", "is more than --max", "write a smaller size", {}});
    return {};
  }
  std::vector<std::int64_t> sizes;
  for (std::int64_t size = least; size < most; size *= 2) sizes.push_back(size);
  sizes.push_back(most);
  return sizes;
}

}  // namespace

std::vector<Option> collective_options() {
  std::vector<Option> options = cluster_options();
  options.push_back({"--algorithm", "NAME", joined_names<spec::Algorithm>(), false, joined_names<spec::Algorithm>()});
  options.push_back({"--min", "SIZE", "smallest message; 8 bytes unless given"});
  options.push_back({"--max", "SIZE", "largest message; 8GiB unless given"});
  options.push_back({"--csv", "", "print the rows as CSV instead"});
  return options;
}

int show_collective(const Arguments& args) {
  Faults faults;
  const plan::CollectiveKind kind = kind_from(args, faults);
  const spec::Algorithm wanted = algorithm_from(args, faults);
  const std::vector<std::int64_t> sizes = sizes_from(args, faults);
  const CollectiveCluster on = cluster_from(args, config::Catalogue::find(), faults);
  if (!faults.empty()) throw base::InputError(std::move(faults));
  if (on.gpus * on.cluster.nodes < 2) {
    throw base::InputError({{"--gpus", "one rank alone has nobody to talk to", "write --nodes or --gpus above 1", {}}});
  }
  const result::CollectiveTable table = sim::collective_table(kind, on.cluster, on.gpus, sizes, wanted);
  write_if_asked(args, "--json", [&] { return reports::collective_json(table); });
  if (args.get("--json") == "-") return kAnswered;
  print(args.has("--csv") ? reports::collective_csv(table) : reports::collective_text(table, stdout_style()));
  return kAnswered;
}

}  // namespace cli
