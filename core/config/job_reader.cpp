// SPDX-License-Identifier: Apache-2.0
#include "core/config/job_reader.h"

#include "core/config/cluster_reader.h"
#include "core/config/named_model.h"
#include "core/config/network_reader.h"
#include "core/config/simulation_reader.h"
#include "core/config/strategy_reader.h"
#include "core/config/training_reader.h"

namespace config {
namespace {

void add_placed(const Value& tree, std::vector<base::Fault> found, Faults& faults) {
  for (base::Fault& fault : found) {
    fault.where = place_of(tree, fault.field);
    faults.push_back(std::move(fault));
  }
}

spec::Job read_sections(const Value& tree, const Catalogue& catalogue, Faults& faults) {
  spec::Job job;
  Value nothing;
  nothing.where = tree.where;
  MapReader map(tree, "", faults);
  const auto section = [&](const char* key) {
    const Value* value = map.child(key);
    return value ? value : &nothing;
  };
  if (const Value* model = map.child("model")) {
    job.model = read_named_model(*model, catalogue, faults, job.assumptions);
  } else if (tree.kind == Value::Kind::map) {
    map.fault("model", "is missing",
              "add `model:` with a name, a path or a map; `forerun list models` shows the names");
  }
  if (tree.kind == Value::Kind::map) {
    job.cluster = read_cluster(*section("cluster"), catalogue, faults);
    job.training = read_training(*section("training"), !job.model.is_list(), faults);
  }
  const Value* strategy = section("strategy");
  job.strategy = read_strategy(*strategy, faults);
  Value usual = *strategy;
  usual.kind = Value::Kind::scalar;
  usual.text = job.strategy.framework;
  const Value* framework = strategy->find("framework");
  if (!framework || framework->kind == Value::Kind::null) framework = &usual;
  job.framework = catalogue.framework(*framework, "strategy.framework", faults);
  job.strategy.framework = job.framework.name;
  job.uncertainty = catalogue.uncertainty(faults);
  read_network(*section("network"), job.network, faults);
  read_simulation(*section("simulation"), job.simulation, faults);
  map.finish();
  return job;
}

}  // namespace

base::Where place_of(const Value& tree, std::string_view field) {
  const Value* at = &tree;
  while (!field.empty()) {
    const std::size_t dot = field.find('.');
    const Value* next = at->find(field.substr(0, dot));
    if (!next) return at->where.line > 0 ? at->where : base::Where{};  // a flag beside it has no part in the fault
    at = next;
    field = dot == std::string_view::npos ? std::string_view() : field.substr(dot + 1);
  }
  return at->where;
}

spec::Job read_job(const Value& written, const Catalogue& catalogue) {
  Faults faults;
  const Value* defaults = catalogue.job_defaults();
  const Value tree = defaults ? merged(*defaults, written) : written;
  spec::Job job = read_sections(tree, catalogue, faults);
  // Half-read fields would raise faults of their own in check(); what is unsupported can be told all the same.
  add_placed(tree, faults.empty() ? spec::check(job) : spec::unsupported(job), faults);
  if (!faults.empty()) throw base::InputError(std::move(faults));
  return spec::resolve(std::move(job));
}

spec::Job read_unchecked_job(const Value& tree, const Catalogue& catalogue) {
  Faults faults;
  spec::Job job = read_sections(tree, catalogue, faults);
  if (!faults.empty()) throw base::InputError(std::move(faults));
  return job;
}

}  // namespace config
