// SPDX-License-Identifier: Apache-2.0
#include "core/config/launch/export.h"
#include "core/base/text.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <utility>

namespace config::launch {
namespace {

/// Keys that go without saying where another one is refused: each fault is told once.
constexpr std::array<std::pair<std::string_view, std::string_view>, 19> kUnder{
    {{"strategy.tp", "strategy.sp"},
     {"strategy.tp", "strategy.overlap.tp"},
     {"strategy.cp", "strategy.cp_kind"},
     {"strategy.cp", "strategy.cp_balance"},
     {"strategy.pp", "strategy.schedule"},
     {"strategy.pp", "strategy.vpp"},
     {"strategy.pp", "strategy.stage_layers"},
     {"strategy.pp", "strategy.overlap.p2p"},
     {"strategy.pp", "strategy.optimizer_barrier"},
     {"strategy.moe_capacity_factor", "strategy.moe_pad_to_capacity"},
     {"strategy.vocab_parallel", "strategy.overlap.p2p"},
     {"strategy.vocab_parallel", "strategy.vocab_barriers"},
     {"model.parallel_block", "model.norms_in_parallel"},
     {"strategy.schedule", "strategy.overlap.p2p"},
     {"strategy.schedule", "strategy.optimizer_barrier"},
     {"strategy.zero", "strategy.fsdp."},
     {"strategy.recompute.kind", "strategy.recompute."},
     {"strategy.lora.rank", "strategy.lora."},
     {"training.precision", "training.fp8_"}}};

/// Keys about how a step is run, not about what is computed and kept where: a framework that takes no order about one
/// does as it does.
bool is_how(std::string_view key) {
  constexpr std::array<std::string_view, 6> kHow{"strategy.overlap.",       "strategy.fused_kernels.",
                                                 "strategy.cuda_graphs",    "strategy.optimizer_barrier",
                                                 "strategy.vocab_barriers", "strategy.cp_balance"};
  return std::ranges::any_of(kHow, [&](std::string_view prefix) { return key.starts_with(prefix); });
}

/// Whether the user wrote the key, or all that it is a part of: recompute: full. A model's keys come with its name.
bool is_written(const Value& tree, std::string_view key) {
  if (key.starts_with("model")) return true;
  const Value* at = &tree;
  while (at && at->kind == Value::Kind::map && !key.empty()) {
    const std::size_t dot = std::min(key.find('.'), key.size());
    at = at->find(key.substr(0, dot));
    key.remove_prefix(std::min(dot + 1, key.size()));
  }
  return at && at->kind != Value::Kind::null;
}

/// "1f1b or interleaved"
std::string alternatives(const std::vector<std::string>& values) {
  std::string out;
  for (std::size_t i = 0; i < values.size(); ++i)
    out += (i == 0 ? "" : i + 1 == values.size() ? " or " : ", ") + values[i];
  return out;
}

/// Why, if the table knows.
std::string reason(const Export& e, const std::string& key, const std::string& otherwise) {
  const std::string* why = beside(e.table.refusals, key);
  return why ? *why : otherwise.empty() ? "it has no option for this value" : otherwise;
}

void write_line(Export& e, const Line& line) {
  if (!line.needs.empty() && !e.keys.has(line.needs)) return;
  const Value* value = e.keys.take(line.key);
  if (!value || e.options.has(line.option)) return;
  const std::string text = text_of(*value);
  if (line.form != Line::Form::value) {
    if (text == (line.form == Line::Form::on ? "true" : "false")) e.options.set(line.option, "true");
    return;
  }
  if (line.quiet && line.absent == text) return;
  if (line.words.empty()) return e.options.set(line.option, *value);
  for (const auto& [ours, theirs] : line.words) {
    if (ours == text) return e.options.set(line.option, theirs);
  }
  std::vector<std::string> known;
  for (const auto& word : line.words) known.push_back(word.first);
  e.refuse(line.key, base::quoted(text) + ": " + reason(e, line.key, "there is no such value"),
           "write " + line.key + ": " + alternatives(known));
}

/// The value that "$" stands for; nothing when the row is not what the Job says.
std::optional<Value> fits(const Export& e, const Row& row) {
  Value bound;
  for (const Setting& entry : row.job) {
    const Value* value = e.keys.find(entry.name);
    if (!value) return std::nullopt;
    if (entry.value.text == "$") {
      bound = *value;
    } else if (text_of(*value) != text_of(entry.value)) {
      return std::nullopt;
    }
  }
  return bound;
}

/// A key whose other values rows have beside all else that the Job says, and those values; none: "".
std::string lone_culprit(const Export& e, const Choice& choice, std::vector<std::string>& values) {
  std::string key;
  for (const Row& row : choice.rows) {
    if (row.import_only) continue;
    const auto differs = [&](const Setting& entry) {
      return entry.value.text != "$" && e.keys.text(entry.name) != text_of(entry.value);
    };
    if (std::count_if(row.job.begin(), row.job.end(), differs) != 1) continue;
    const Setting& entry = *std::find_if(row.job.begin(), row.job.end(), differs);
    if (!e.keys.has(entry.name) || entry.name == choice.needs || (!key.empty() && entry.name != key)) continue;
    key = entry.name;
    values.push_back(text_of(entry.value));
  }
  return key;
}

/// The first key with a value that no row has, and the values that rows have; otherwise one that alone does not fit.
void refuse_choice(Export& e, const Choice& choice) {
  std::string key;
  std::vector<std::string> known;
  for (const Row& row : choice.rows) {
    for (const Setting& entry : row.job) {
      if (!e.keys.has(entry.name)) continue;
      std::vector<std::string> values;
      for (const Row& other : choice.rows) {
        if (other.import_only) continue;
        for (const Setting& o : other.job) {
          const std::string text = o.value.text == "$" ? e.keys.text(o.name) : text_of(o.value);
          if (o.name == entry.name && std::find(values.begin(), values.end(), text) == values.end())
            values.push_back(text);
        }
      }
      const bool has = std::find(values.begin(), values.end(), e.keys.text(entry.name)) != values.end();
      if (key.empty() || !has) {
        key = entry.name;
        known = values;
      }
      if (!has) break;
    }
  }
  const bool unknown = !key.empty() && std::find(known.begin(), known.end(), e.keys.text(key)) == known.end();
  if (std::vector<std::string> values; !unknown) {
    if (const std::string culprit = lone_culprit(e, choice, values); !culprit.empty()) key = culprit, known = values;
  }
  if (!key.empty()) {
    e.refuse(key, base::quoted(e.keys.text(key)) + ": " + reason(e, key, choice.because),
             "write " + key + ": " + alternatives(known));
  }
}

void write_choice(Export& e, const Choice& choice) {
  if (!choice.needs.empty() && !e.keys.has(choice.needs)) return;
  bool asked = false, all_taken = true;
  for (const Setting& entry : choice.rows.front().job) asked |= e.keys.has(entry.name);
  const auto row = std::find_if(choice.rows.begin(), choice.rows.end(),
                                [&](const Row& r) { return !r.import_only && !r.job.empty() && fits(e, r); });
  for (const Row& r : choice.rows) {
    for (const Setting& entry : r.job) {
      for (const Setting& key : e.keys.all()) all_taken &= key.name != entry.name || key.taken;
    }
  }
  if (!asked || all_taken) return;
  if (row == choice.rows.end()) {
    refuse_choice(e, choice);
  } else {
    const std::optional<Value> bound = fits(e, *row);
    for (const Setting& option : row->options) {
      e.options.set(option.name, option.value.text == "$" ? *bound : option.value);
    }
  }
  for (const Row& r : choice.rows) {
    for (const Setting& entry : r.job) e.keys.take(entry.name);
  }
}

}  // namespace

void Export::refuse(const std::string& key, const std::string& why, const std::string& mend) {
  keys.take(key);
  for (const auto& [over, under] : kUnder) {
    if (key == over) keys.take_all(under);
  }
  if (std::any_of(faults.begin(), faults.end(), [&](const base::Fault& fault) { return fault.field == key; })) return;
  const bool left_out = !is_written(written, key);
  if (left_out && is_how(key)) {
    notes.push_back(key + " is left to the framework: predicted is the default of " + job.framework.name + ", and " +
                    table.title + " cannot say " + why);
  } else {
    const std::string from = "; not written, so the default of " + job.framework.name;
    faults.push_back({key, table.title + " cannot say " + why + (left_out ? from : ""), mend});
  }
}

void write_keys(Export& e) {
  for (const std::string& key : e.table.implied) e.keys.take_all(key);
  for (const auto& item : e.table.keys) {
    if (const Line* line = std::get_if<Line>(&item)) {
      write_line(e, *line);
    } else {
      write_choice(e, std::get<Choice>(item));
    }
  }
  for (const Setting& option : e.table.always) {
    if (!e.options.has(option.name)) e.options.set(option.name, option.value);
  }
}

void refuse_rest(Export& e, const Settings& usual) {
  std::string script;
  for (std::size_t i = 0; i < e.keys.all().size(); ++i) {
    const Setting key = e.keys.all()[i];
    if (key.taken) continue;
    const std::string text = text_of(key.value), neutral = usual.text(key.name);
    if (text == neutral) continue;
    if (listed(e.table.script, key.name)) {
      if (!key.name.starts_with("model.") || key.name == "model.name")
        script += (script.empty() ? "" : ", ") + key.name + " " + text;
      continue;
    }
    const std::string instead = key.name + ": " + neutral;
    const std::string mend = neutral.empty()                  ? "leave it out, or export to another framework"
                             : key.name.starts_with("model.") ? "write " + instead + " and add the option by hand"
                                                              : "write " + instead;
    e.refuse(key.name, base::quoted(text) + ": " + reason(e, key.name, "forerun knows no option of it for this key"),
             mend);
  }
  if (!script.empty()) e.notes.push_back("the training script's, not in this file: " + script);
}

}  // namespace config::launch
