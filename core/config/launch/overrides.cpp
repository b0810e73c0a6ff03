// core/config/launch/overrides.cpp -- Megatron-Bridge and NeMo: Megatron-LM's arguments by the names of their
// configuration's fields, as overrides behind a recipe. SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "core/config/launch/framework.h"
#include "core/config/launch/megatron.h"

namespace config::launch {
namespace {

/// Several options that are one field, and fields of single options.
struct Renames {
  struct Group {
    std::vector<Setting> options;
    std::string write;
  };
  std::vector<Group> groups;
  std::vector<std::pair<std::string, std::string>> fields, absent;
};

Renames read_renames(const Catalogue& catalogue, std::string_view name) {
  const std::shared_ptr<const Value> tree = catalogue.launch(name);
  Faults faults;
  Renames out;
  MapReader map(*tree, "", faults);
  map.ignore("source");
  if (const Value* groups = map.child("together")) {
    for (const Value& value : groups->items) {
      MapReader group(value, "together", faults);
      Renames::Group one;
      group.require("write", one.write);
      if (const Value* options = group.child("options")) {
        for (const auto& [key, text] : options->entries) one.options.push_back({key, text});
      }
      group.finish();
      out.groups.push_back(std::move(one));
    }
  }
  if (const Value* fields = map.child("fields")) {
    for (const auto& [key, value] : fields->entries) out.fields.emplace_back(key, value.text);
  }
  if (const Value* absent = map.child("absent")) {
    for (const auto& [key, value] : absent->entries) out.absent.emplace_back(key, value.text);
  }
  map.finish();
  if (!faults.empty()) throw base::InputError(std::move(faults));
  return out;
}

/// "a.b c.d" with a value each; "a.b=false" as it is; "" has no counterpart and needs none.
void write_fields(const std::string& fields, const Value& value, std::vector<std::string>& out) {
  for (std::size_t begin = 0; begin < fields.size();) {
    const std::size_t end = std::min(fields.find(' ', begin), fields.size());
    const std::string field = fields.substr(begin, end - begin);
    const std::string assigned = field.find('=') != field.npos ? field : field + '=' + text_of(value);
    const bool plain = assigned.find_first_of("[]() *|'\"") == assigned.npos;
    out.push_back(plain ? assigned : "'" + assigned + "'");
    begin = end + 1;
  }
}

std::vector<std::string> overrides(Export& e, std::string_view table) {
  const Renames renames = read_renames(e.catalogue, table);
  std::vector<std::string> out;
  const Settings given = e.options;
  for (const Renames::Group& group : renames.groups) {
    const bool fits = std::all_of(group.options.begin(), group.options.end(), [&](const Setting& option) {
      return e.options.text(option.name) == text_of(option.value);
    });
    if (!fits) continue;
    write_fields(group.write, {}, out);
    for (const Setting& option : group.options) e.options.erase(option.name);
  }
  for (const Setting& option : e.options.all()) {
    const std::string* fields = beside(renames.fields, option.name);
    if (fields) {
      write_fields(*fields, option.value, out);
    } else {
      e.faults.push_back(
          {"--to", e.table.title + " has no field for Megatron-LM's --" + option.name, "export to megatron", {}});
    }
  }
  for (const auto& one : renames.absent) {
    if (!given.has(one.first)) write_fields(one.second, {}, out);
  }
  if (spec::bytes_of(e.job.training.precision) < 2)
    e.notes.emplace_back("whether weights are kept in fp8 is the precision recipe's: fp8_param_gather");
  return out;
}

std::vector<File> script(Export& e, const std::string& name, const std::string& command,
                         const std::vector<std::string>& fields) {
  std::string text = "#!/usr/bin/env bash\n" + heading(e, "# ") + "set -euo pipefail\noverrides=(\n";
  for (const std::string& field : fields) text += "  " + field + '\n';
  return {{name, text + ")\n" + folded(command + " \"${overrides[@]}\" \"$@\"") + '\n'}};
}

std::vector<File> bridge_files(Export& e) {
  const auto fields = overrides(e, "megatron-bridge");
  e.notes.emplace_back(
      "RECIPE names the recipe whose data, learning and logging is kept, as llama3_8b_pretrain_config");
  return script(
      e, "bridge.sh",
      torchrun(e.job) + " scripts/training/run_recipe.py --recipe \"${RECIPE:?names a recipe}\" --mode pretrain",
      fields);
}

std::vector<File> nemo_files(Export& e) {
  auto fields = overrides(e, "nemo");
  const spec::Strategy& s = e.job.strategy;
  fields.push_back("trainer.num_nodes=" + std::to_string(e.job.cluster.nodes));
  fields.push_back("trainer.devices=" + std::to_string(e.job.cluster.node.gpus));
  if (s.tp > 1 && s.overlap.tp == spec::TpOverlap::userbuffers) {
    e.refuse("strategy.overlap.tp", "'userbuffers': they are a callback of its recipes, not a field",
             "write strategy.overlap.tp: none, or export to megatron-bridge");
  }
  e.notes.emplace_back("FACTORY names the recipe whose model class, data and learning is kept, as llama3_70b");
  return script(e, "nemo.sh", "nemo llm pretrain --factory \"${FACTORY:?names a recipe}\" -y", fields);
}

}  // namespace

constinit const Framework kMegatronBridge{"megatron-bridge", "Megatron-Bridge", "megatron", write_megatron,
                                          bridge_files,      as_shell_script,   nullptr,    nullptr};
constinit const Framework kNemo{"nemo", "NeMo", "megatron", write_megatron, nemo_files, nullptr, nullptr, nullptr};

}  // namespace config::launch
