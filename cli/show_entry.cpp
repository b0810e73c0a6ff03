// SPDX-License-Identifier: Apache-2.0
#include "cli/show_entry.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <ostream>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "cli/exit_code.h"
#include "cli/kinds.h"
#include "cli/model_facts.h"
#include "cli/output.h"
#include "cli/terminal.h"
#include "cli/tree.h"
#include "core/base/fault.h"
#include "core/base/near_names.h"
#include "core/base/text.h"
#include "core/config/huggingface.h"
#include "core/config/job_reader.h"
#include "core/config/model_writer.h"
#include "reports/layout.h"

namespace cli {
namespace {

using config::Catalogue;
using config::Value;

struct Entry {
  KindName kind;
  std::string name, path;
  std::vector<std::string> namesakes;  // "calibrations/h100-sxm"
};

/// The kind of a file outside the catalogue, by the keys that only this kind has.
const KindName* kind_of(const Value& tree) {
  if (config::is_huggingface(tree) || tree.find("hidden") || tree.find("operators")) return kind_named("model");
  if (tree.find("training")) return kind_named("job");
  if (tree.find("gpus")) return kind_named("node");
  if (tree.find("sms")) return kind_named("gpu");
  if (tree.find("nic_kind")) return kind_named("fabric");
  return nullptr;
}

Value path_value(const std::string& path) {
  return config::scalar(path.find('/') == std::string::npos ? "./" + path : path);  // no name of the catalogue
}

/// By what the file's bases hold, of the kind for which they have one. What is wrong with them in every kind, as a base
/// of its own is, is told.
const KindName* kind_by_bases(const Catalogue& catalogue, const std::string& path) {
  std::set<std::string> wrong;
  config::Faults told;
  for (const char* name : {"model", "node", "gpu", "fabric"}) {
    const KindName* kind = kind_named(name);
    config::Faults faults;
    const Value tree = catalogue.expanded(kind->kind, path_value(path), "NAME", faults);
    if (faults.empty() && kind_of(tree) == kind) return kind;
    if (faults.empty()) return nullptr;
    wrong.insert(to_string(faults.front()));
    told = faults;
  }
  if (wrong.size() == 1) throw base::InputError(told);
  return nullptr;
}

Entry file_entry(const Catalogue& catalogue, const std::string& path) {
  const Value tree = config::load(path);
  const KindName* kind = kind_of(tree);
  if (!kind && tree.find("base")) kind = kind_by_bases(catalogue, path);
  if (!kind) {
    throw base::InputError({{"NAME",
                             path + " is no model, job, node, GPU or fabric",
                             "name a file that is one of these, or an entry of `forerun list`",
                             {}}});
  }
  return {*kind, std::filesystem::path(path).stem(), path, {}};
}

Entry unknown(const Catalogue& catalogue, const std::string& name) {
  std::set<std::string> known;  // a GPU and its calibration may be called alike
  for (const KindName& kind : kKinds) {
    for (const std::string& entry : catalogue.names(kind.kind)) known.insert(entry);
  }
  // The name behind a kind, if there is one.
  const std::string near = base::did_you_mean(name.substr(name.find('/') + 1), {known.begin(), known.end()});
  throw base::InputError({{"NAME",
                           "there is no entry and no file '" + name + "'",
                           (near.empty() ? "" : near + ' ') + "`forerun list` shows all names",
                           {}}});
}

/// "h100-sxm", "gpus/h100-sxm", or a path.
Entry entry_named(const Catalogue& catalogue, const std::string& word) {
  const std::size_t slash = word.find('/');
  if (slash != std::string::npos) {
    const KindName* kind = kind_named(word.substr(0, slash));
    const std::string name = word.substr(slash + 1);
    if (kind) {
      if (const std::string path = catalogue.path(kind->kind, name); !path.empty()) return {*kind, name, path, {}};
    }
  }
  std::vector<Entry> found;
  for (const KindName& kind : kKinds) {
    if (const std::string path = catalogue.path(kind.kind, word); !path.empty())
      found.push_back({kind, word, path, {}});
  }
  if (found.empty()) {
    std::error_code error;
    return std::filesystem::exists(word, error) ? file_entry(catalogue, word) : unknown(catalogue, word);
  }
  Entry entry = found.front();
  for (std::size_t i = 1; i < found.size(); ++i) entry.namesakes.push_back(found[i].kind.many + ('/' + word));
  return entry;
}

struct Shown {
  Value tree;
  std::vector<std::pair<std::string, std::int64_t>> parameters;  // models only
};

/// Keys keep the place in which they were written; what was filled in says so.
void mark_defaults(Value& filled, const Value& written) {
  for (auto& [key, value] : filled.entries) {
    const Value* source = written.find(key);
    if (!source) {
      value.where.file = "default";
    } else if (value.kind == Value::Kind::map) {
      mark_defaults(value, *source);
    } else {
      value.where = source->where;
    }
  }
}

Shown shown_model(const Catalogue& catalogue, const Entry& entry, config::Faults& faults) {
  const Value at = path_value(entry.path);
  const Value written = catalogue.expanded(Catalogue::Kind::model, at, entry.name, faults);
  const spec::Model model = catalogue.model(at, entry.name, faults);
  if (!faults.empty()) return {};
  if (model.kind != "transformer") return {written, parameter_parts(model)};
  Shown shown{config::model_tree(model), parameter_parts(model)};
  if (!config::is_huggingface(written)) mark_defaults(shown.tree, written);
  if (const Value* source = written.find("source")) shown.tree.set("source", *source);
  return shown;
}

/// Reads the entry as a prediction would, for its faults.
void read_for_faults(const Catalogue& catalogue, const Entry& entry, config::Faults& faults) {
  using Kind = Catalogue::Kind;
  const Value at = path_value(entry.path);
  switch (entry.kind.kind) {
    case Kind::model: catalogue.model(at, entry.name, faults); break;
    case Kind::node: catalogue.node(at, entry.name, faults); break;
    case Kind::gpu: catalogue.gpu(at, entry.name, faults); break;
    case Kind::fabric: catalogue.fabric(at, entry.name, faults); break;
    case Kind::framework: catalogue.framework(at, entry.name, faults); break;
    case Kind::job: config::read_job(config::load(entry.path), catalogue); break;
    case Kind::calibration: catalogue.calibration(entry.name, "calibration", {}, faults); break;
  }
}

/// The entry with what its bases hold, and of a node with its GPU; jobs and calibrations as they were written.
Value expanded(const Catalogue& catalogue, const Entry& entry, config::Faults& faults) {
  using Kind = Catalogue::Kind;
  const Kind kind = entry.kind.kind;
  if (kind == Kind::job || kind == Kind::calibration) return config::load(entry.path);
  Value tree = catalogue.expanded(kind, path_value(entry.path), entry.name, faults);
  Value* gpu = kind == Kind::node ? tree.find("gpu") : nullptr;
  if (gpu) *gpu = catalogue.expanded(Kind::gpu, *gpu, entry.name + ".gpu", faults);
  return tree;
}

/// Throws what is in `faults`: each once, for reading and expanding meet the same.
void throw_any(const config::Faults& faults) {
  config::Faults once;
  for (const base::Fault& fault : faults) {
    const auto same = [&](const base::Fault& other) { return to_string(other) == to_string(fault); };
    if (std::none_of(once.begin(), once.end(), same)) once.push_back(fault);
  }
  if (!once.empty()) throw base::InputError(std::move(once));
}

/// Reads the entry as a prediction would, so that what is shown is also sound; throws every fault.
Shown shown(const Catalogue& catalogue, const Entry& entry) {
  config::Faults faults;
  Shown out;
  if (entry.kind.kind == Catalogue::Kind::model) {
    out = shown_model(catalogue, entry, faults);
  } else {
    read_for_faults(catalogue, entry, faults);
    out.tree = expanded(catalogue, entry, faults);
  }
  throw_any(faults);
  return out;
}

std::string text_of(const Entry& entry, const Shown& shown) {
  const int columns = stdout_style().columns;
  std::string out = reports::paragraph(fmt::format("{} {}   ", entry.kind.one, entry.name), entry.path, columns) +
                    tree_text(shown.tree, entry.path, 2, columns);
  if (!shown.parameters.empty()) out += "parameters\n";
  for (const auto& [part, count] : shown.parameters) {
    out += fmt::format("  {:<16}{:>24}\n", part, base::with_commas(count));
  }
  for (const std::string& other : entry.namesakes) out += "there is also " + other + '\n';
  return out;
}

nlohmann::ordered_json json_of(const Entry& entry, const Shown& shown) {
  nlohmann::ordered_json out{{"schema", 1},
                             {"kind", entry.kind.one},
                             {"name", entry.name},
                             {"path", entry.path},
                             {"values", tree_json(shown.tree)}};
  for (const auto& [part, count] : shown.parameters) out["parameters"][part] = count;
  return out;
}

}  // namespace

int show_entry(const Arguments& args) {
  if (args.operands().size() > 1) {
    throw base::InputError({{args.operands()[1], "is one operand too many", "name one entry", {}}});
  }
  const auto catalogue = Catalogue::find();
  const Entry entry = entry_named(catalogue, args.operands().front());
  const Shown values = shown(catalogue, entry);
  if (args.has("--json")) {
    write_to(args.get("--json"), "--json", [&](std::ostream& out) {
      out << json_of(entry, values).dump(2, ' ', false, nlohmann::json::error_handler_t::replace) << '\n';
    });
  }
  if (args.get("--json") != "-") print(text_of(entry, values));
  return kAnswered;
}

}  // namespace cli
