// SPDX-License-Identifier: Apache-2.0
#include "core/config/case_reader.h"

#include <cmath>

#include "core/base/parallel.h"
#include "core/config/job_reader.h"

namespace config {
namespace {

/// Nothing at all is a map without entries.
bool is_map(const Value& value) { return value.kind == Value::Kind::map || value.kind == Value::Kind::null; }

void flatten(const Value& value, const std::string& key, result::Labels& out) {
  if (value.kind == Value::Kind::map) {
    for (const auto& [name, inner] : value.entries) flatten(inner, key.empty() ? name : key + '.' + name, out);
    return;
  }
  std::string text = value.text;
  for (const Value& item : value.items) {
    result::Labels inner;
    flatten(item, "", inner);
    for (const auto& [name, part] : inner) text += (text.empty() ? "" : ", ") + part;
  }
  out.emplace_back(key.empty() ? "source" : key, text);
}

void read_measured(const Value& value, const std::string& path, result::ValidationCase& row, Faults& faults) {
  enum class Kind { allocated, reserved, smi, unknown } kind{};
  MapReader map(value, path, faults);
  base::Seconds time;
  if (map.read("step_time", time)) {
    row.measured_s = time.si();
    if (!(time.si() > 0)) map.fault("step_time", "is not above zero", "write the time of one step, such as 3.7s");
  }
  base::Bytes memory;
  if (map.read("memory", memory)) {
    row.measured_bytes = std::llround(memory.si());
    if (!(memory.si() > 0)) map.fault("memory", "is not above zero", "write the peak of one GPU, such as 71.4GB");
  }
  if (map.read("memory_kind", kind,
               {{"allocated", Kind::allocated},
                {"reserved", Kind::reserved},
                {"smi", Kind::smi},
                {"unknown", Kind::unknown}})) {
    map.read("memory_kind", row.memory_kind);
  }
  map.read("fits", row.measured_fits);
  if (row.measured_s && row.measured_fits == false)
    map.fault("fits", "is false beside a step_time, and what does not fit takes no step", "leave one of them out");
  if (is_map(value) && !map.has("step_time") && !map.has("memory") && !map.has("fits")) {
    faults.push_back({path, "holds nothing that was measured", "write step_time, memory or fits", value.where});
  }
  map.finish();
}

/// Reads what it can, so that a faulty case can still be told by its id and counted in its tier.
Case read_case(const Value& value, std::size_t position, const Catalogue& catalogue) {
  Case out;
  out.row.id = '#' + std::to_string(position + 1);
  Faults faults;
  MapReader map(value, "cases[" + std::to_string(position) + ']', faults);
  if (is_map(value)) {
    enum class Tier { complete, assuming } tier{};
    map.require("id", out.row.id);
    if (map.require("tier", tier, {{"A", Tier::complete}, {"B", Tier::assuming}})) map.read("tier", out.row.tier);
    map.read("notes", out.row.notes);
    if (const Value* measured = map.child("measured")) {
      read_measured(*measured, map.path_of("measured"), out.row, faults);
    } else {
      map.fault("measured", "is missing", "add `measured:` with step_time, memory or fits");
    }
    if (const Value* job = map.child("job")) {
      base::or_faults(faults, [&] {
        out.job = read_job(*job, catalogue.noting(out.entries));
        out.written = *job;
      });
    } else {
      map.fault("job", "is missing", "add `job:` with model, cluster, training and strategy");
    }
  }
  map.finish();
  if (!faults.empty()) {
    out.row.error_message = base::InputError(std::move(faults)).what();
    out.job.reset();
  }
  return out;
}

}  // namespace

CaseFile read_cases(const Value& tree, const std::string& path, const Catalogue& catalogue) {
  Faults faults;
  MapReader map(tree, "", faults);
  CaseFile out;
  out.path = path;
  if (const Value* source = map.child("source")) flatten(*source, "", out.source);
  const Value* cases = map.child("cases");
  if (is_map(tree) && (!cases || cases->kind != Value::Kind::list)) {
    map.fault("cases", cases ? "is not a list" : "is missing",
              "write `cases:` and below it `- {id, tier, job, measured}` for each of them");
  }
  map.finish();
  if (!faults.empty()) throw base::InputError(std::move(faults));
  out.cases.resize(cases->items.size());
  base::parallel_for(out.cases.size(), [&](std::size_t i) { out.cases[i] = read_case(cases->items[i], i, catalogue); });
  return out;
}

CaseFile read_cases(const std::string& path, const Catalogue& catalogue) {
  return read_cases(load(path), path, catalogue);
}

}  // namespace config
