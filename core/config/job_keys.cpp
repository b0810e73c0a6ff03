// SPDX-License-Identifier: Apache-2.0
#include "core/config/job_keys.h"

#include <algorithm>

#include "core/base/near_names.h"
#include "core/config/network_reader.h"
#include "core/config/simulation_reader.h"
#include "core/config/strategy_reader.h"
#include "core/config/training_reader.h"

namespace config {
namespace {

void read_strategy_alone(const Value& value, Faults& faults) { read_strategy(value, faults); }
void read_training_alone(const Value& value, Faults& faults) { read_training(value, false, faults); }
void read_network_alone(const Value& value, Faults& faults) {
  spec::Network unused;
  read_network(value, unused, faults);
}
void read_simulation_alone(const Value& value, Faults& faults) {
  spec::Simulation unused;
  read_simulation(value, unused, faults);
}

struct Section {
  const char* name;
  void (*read)(const Value&, Faults&);
};
constexpr Section kSections[]{{"strategy", read_strategy_alone},
                              {"training", read_training_alone},
                              {"network", read_network_alone},
                              {"simulation", read_simulation_alone}};

/// Whether the section has the key, of an empty value, or takes what it is set to.
bool takes(const Section& section, const std::string& key, const std::string& value) {
  Value tree;
  tree.kind = Value::Kind::map;
  Faults faults;
  try {
    set_path(tree, key, value, "");
    section.read(tree, faults);
  } catch (const base::InputError&) {
    return false;
  }
  const std::string path = std::string(section.name) + '.' + key;
  return std::ranges::none_of(faults, [&](const base::Fault& fault) { return fault.field.starts_with(path); });
}

}  // namespace

std::string job_setting(std::string_view name, const std::string& value) {
  std::string key = base::spelled_alike(name), named;
  if (const std::size_t dot = key.find('.'); dot != std::string::npos) {
    named = key.substr(0, dot);
    key.erase(0, dot + 1);
  }
  if (key.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_") != std::string::npos) return {};
  for (const Section& section : kSections) {
    const bool meant = named.empty() || named == section.name;
    if (key.empty() || !meant || !takes(section, key, "")) continue;
    const bool as_written = !value.empty() && takes(section, key, value);
    const std::string shown = as_written ? value : takes(section, key, "true") ? "true" : "VALUE";
    return std::string(section.name) + '.' + key + '=' + shown;
  }
  return {};
}

}  // namespace config
