// cli/show.cpp -- forerun show NAME [--json FILE]: one catalogue entry (or file) with everything filled in; and
// forerun show collective OP (cli/show_collective.cpp), forerun show schedule JOB (cli/show_schedule.cpp).
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <ostream>
#include <set>

#include "cli/command.h"
#include "cli/exit_code.h"
#include "cli/kinds.h"
#include "cli/model_facts.h"
#include "cli/output.h"
#include "cli/show_collective.h"
#include "cli/show_schedule.h"
#include "cli/terminal.h"
#include "cli/tree.h"
#include "core/base/fault.h"
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
  return nullptr;
}

Entry file_entry(const std::string& path) {
  const KindName* kind = kind_of(config::load(path));
  if (!kind) {
    throw base::InputError({{"NAME",
                             path + " is no model, job, node or GPU",
                             "name a file that is one of these, or an entry of `forerun list`",
                             {}}});
  }
  return {*kind, std::filesystem::path(path).stem(), path, {}};
}

Entry unknown(const Catalogue& catalogue, const std::string& name) {
  std::vector<std::string> known;
  for (const KindName& kind : kKinds) {
    for (const std::string& entry : catalogue.names(kind.kind)) known.push_back(entry);
  }
  const auto near = base::nearest(name, known);
  throw base::InputError({{"NAME",
                           "there is no entry and no file '" + name + "'",
                           (near ? "did you mean " + *near + "? " : "") + "`forerun list` shows all names",
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
    return std::filesystem::exists(word, error) ? file_entry(word) : unknown(catalogue, word);
  }
  Entry entry = found.front();
  for (std::size_t i = 1; i < found.size(); ++i) entry.namesakes.push_back(found[i].kind.many + ('/' + word));
  return entry;
}

struct Shown {
  Value tree;
  std::vector<std::pair<std::string, std::int64_t>> parameters;  // models only
};

Value path_value(const std::string& path) {
  Value value;
  value.kind = Value::Kind::scalar;
  value.text = path.find('/') == std::string::npos ? "./" + path : path;  // a bare word would be a catalogue name
  return value;
}

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

/// Reads the entry as a prediction would, so that what is shown is also sound; throws every fault.
Shown shown(const Catalogue& catalogue, const Entry& entry) {
  using Kind = Catalogue::Kind;
  config::Faults faults;
  const Value at = path_value(entry.path);
  Shown out;
  switch (entry.kind.kind) {
    case Kind::model: out = shown_model(catalogue, entry, faults); break;
    case Kind::node: {
      catalogue.node(at, entry.name, faults);
      out.tree = catalogue.expanded(Kind::node, at, entry.name, faults);
      if (Value* gpu = out.tree.find("gpu")) *gpu = catalogue.expanded(Kind::gpu, *gpu, entry.name + ".gpu", faults);
      break;
    }
    case Kind::gpu:
      catalogue.gpu(at, entry.name, faults);
      out.tree = catalogue.expanded(Kind::gpu, at, entry.name, faults);
      break;
    case Kind::fabric:
      catalogue.fabric(at, entry.name, faults);
      out.tree = catalogue.expanded(Kind::fabric, at, entry.name, faults);
      break;
    case Kind::framework:
      catalogue.framework(at, entry.name, faults);
      out.tree = catalogue.expanded(Kind::framework, at, entry.name, faults);
      break;
    case Kind::job:
      out.tree = config::load(entry.path);
      config::read_job(out.tree, catalogue);
      break;
    case Kind::calibration:
      catalogue.calibration(entry.name, {}, faults);
      out.tree = config::load(entry.path);
      break;
  }
  if (!faults.empty()) {
    std::vector<base::Fault> once;  // reading and expanding meet the same fault twice
    for (const base::Fault& fault : faults) {
      bool told = false;
      for (const base::Fault& other : once) told = told || to_string(other) == to_string(fault);
      if (!told) once.push_back(fault);
    }
    throw base::InputError(std::move(once));
  }
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

/// What `show` does beside entries: its first operand, and the options that it takes besides --json.
struct Form {
  std::string name;
  std::vector<Option> options;
  int (*run)(const Arguments&);
};

std::vector<Form> forms() {
  return {{"collective", collective_options(), show_collective}, {"schedule", schedule_options(), show_schedule}};
}

bool takes(const Form& form, const std::string& option) {
  return std::any_of(form.options.begin(), form.options.end(), [&](const Option& o) { return o.name == option; });
}

/// `form`: nullptr for an entry, which takes none of their options.
void refuse_options_of_others(const Arguments& args, const Form* form) {
  std::vector<base::Fault> faults;
  std::set<std::string> told;
  for (const Form& other : forms()) {
    for (const Option& option : other.options) {
      if (!args.has(option.name) || (form && takes(*form, option.name)) || !told.insert(option.name).second) continue;
      faults.push_back({option.name, "belongs to `forerun show " + other.name + "`", "leave it out", {}});
    }
  }
  if (!faults.empty()) throw base::InputError(std::move(faults));
}

/// Each option once, with the forms that take it.
std::vector<Option> options() {
  std::vector<Option> all{{"--json", "FILE", "write what is shown as JSON; - prints only it"}};
  for (const Form& form : forms()) {
    for (Option option : form.options) {
      const auto same = std::find_if(all.begin(), all.end(), [&](const Option& o) { return o.name == option.name; });
      option.help = form.name + ": " + option.help;
      if (same == all.end()) {
        all.push_back(std::move(option));
      } else {
        same->help.insert(same->help.find(':'), ", " + form.name);
      }
    }
  }
  return all;
}

int run(const Arguments& args) {
  if (args.operands().empty()) {
    throw base::InputError({{"NAME", "is missing", "name what to show; `forerun list` shows all names", {}}});
  }
  for (const Form& form : forms()) {
    if (args.operands().front() != form.name) continue;
    refuse_options_of_others(args, &form);
    return form.run(args);
  }
  refuse_options_of_others(args, nullptr);
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

}  // namespace

const Command show{
    .name = "show",
    .summary = "Shows one catalogue entry, or a file, with its values filled in and where they come from.",
    .operands =
        {{"NAME",
          "a name (dgx-h100), a kind and a name (gpus/h100-sxm), or a path (a Hugging Face config.json too); or "
          "`collective` and all_reduce, all_gather, reduce_scatter, all_to_all, broadcast or send; or `schedule` and a "
          "JOB",
          true, "collective schedule <models> <nodes> <gpus> <fabrics> <frameworks> <jobs> <calibrations> <files>"}},
    .options = options(),
    .notes = "",
    .examples = {{"forerun show llama3-70b", "a model's values, and its parameters by part"},
                 {"forerun show dgx-h100 --json -", "a node with its GPU's values, for programs"},
                 {"forerun show collective all_reduce --node dgx-h100 --nodes 4",
                  "time and bus bandwidth by size, with the algorithm and the source of the figures"},
                 {"forerun show schedule llama3-70b-64xh100 --to 2s", "the first two seconds of the pipeline's step"}},
    .run = run,
};

}  // namespace cli
