// cli/list.cpp -- forerun list [KIND] [--json FILE]: what the catalogue holds.
// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>
#include <ostream>

#include "cli/command.h"
#include "cli/exit_code.h"
#include "cli/kinds.h"
#include "cli/output.h"
#include "core/base/fault.h"
#include "core/base/near_names.h"
#include "core/base/text.h"

namespace cli {
namespace {

std::vector<KindName> asked_for(const Arguments& args) {
  if (args.operands().empty()) return {kKinds.begin(), kKinds.end()};
  const std::string& word = args.operands().front();
  if (const KindName* kind = kind_named(word)) return {*kind};
  throw base::InputError({{"KIND",
                           "there is no kind '" + word + "'",
                           base::nearest_or(word, kind_words(), "write one of " + base::joined(kind_words())),
                           {}}});
}

int run_list(const Arguments& args) {
  const auto catalogue = config::Catalogue::find();
  const std::vector<KindName> kinds = asked_for(args);
  nlohmann::ordered_json json{{"schema", 1}};
  std::string text;
  for (const KindName& kind : kinds) {
    const std::vector<std::string> names = catalogue.names(kind.kind);
    json[kind.many] = names;
    if (kinds.size() > 1) text += (text.empty() ? "" : "\n") + std::string(kind.many) + '\n';
    for (const std::string& name : names) text += (kinds.size() > 1 ? "  " : "") + name + '\n';
  }
  if (args.has("--json")) {
    write_to(args.get("--json"), "--json", [&](std::ostream& out) { out << json.dump(2) << '\n'; });
  }
  if (args.get("--json") != "-") print(text);
  return kAnswered;
}

}  // namespace

const Command list{
    .name = "list",
    .summary = "Lists the names in the catalogue.",
    .operands = {{"KIND", "models nodes gpus fabrics frameworks jobs calibrations; all of them when left out", false,
                  "models nodes gpus fabrics frameworks jobs calibrations"}},
    .options = {{"--json", "FILE", "write the names as JSON; - prints only it"}},
    .notes = "",
    .examples = {{"forerun list models", "the models of the catalogue"},
                 {"forerun list --json -", "all names, for programs"}},
    .run = run_list,
};

}  // namespace cli
