// SPDX-License-Identifier: Apache-2.0
#include "core/spec/change.h"

#include <algorithm>
#include <map>

namespace spec {
namespace {

struct ShortName {
  std::string_view name;
  std::vector<std::string_view> inputs;  // the first is the one that a value is meant for
};

const std::vector<ShortName> kShortNames{
    {"hbm", {"gpu.hbm"}},
    {"memory", {"gpu.memory"}},
    {"power", {"gpu.power"}},
    {"nvlink", {"nvlink.bandwidth"}},
    {"nic", {"nic.bandwidth"}},
    {"pcie", {"pcie.bandwidth", "pcie.copy"}},
    {"host", {"host.bandwidth"}},
    {"nvme", {"nvme.read", "nvme.write"}},
    {"oversubscription", {"fabric.oversubscription"}},
    {"launch",
     {"framework.launch", "framework.backward_launch", "framework.compiled_launch", "framework.plain_launch",
      "framework.module_launch", "framework.module_fetch", "framework.expert_launch"}},
};
constexpr std::string_view kPeak = "gpu.peak";

std::string_view without_node(std::string_view name) { return name.substr(0, name.find('@')); }
std::string_view node_of(std::string_view name) {
  const std::size_t at = name.find('@');
  return at == name.npos ? "" : name.substr(at);
}

/// Names without a node, in the order of their meaning.
std::vector<std::string> meant_by(const Job& job, std::string_view name) {
  if (name == kPeak) {
    std::vector<std::string> out{"gpu.peak." + std::string(spec::name(job.training.precision))};
    for (const std::string_view dtype : kNamesOf<Dtype>) {
      const std::string other = "gpu.peak." + std::string(dtype);
      if (other != out.front()) out.push_back(other);
    }
    return out;
  }
  for (const ShortName& known : kShortNames) {
    if (known.name == name) return {known.inputs.begin(), known.inputs.end()};
  }
  return {std::string(name)};
}

}  // namespace

std::vector<std::vector<Input>> inputs_named(const Job& job, std::string_view name) {
  const std::vector<std::string> meant = meant_by(job, without_node(name));
  const std::string_view node = node_of(name);
  std::map<std::string, std::vector<Input>, std::less<>> by_node;
  const std::vector<Input> all = inputs(job);
  for (const std::string& one : meant) {
    for (const Input& input : all) {
      const bool here = node.empty() || node_of(input.name) == node;
      if (here && without_node(input.name) == one) by_node[std::string(node_of(input.name))].push_back(input);
    }
  }
  std::vector<std::vector<Input>> out;
  for (auto& [kind, group] : by_node) out.push_back(std::move(group));
  return out;
}

std::vector<std::string> input_names(const Job& job) {
  std::vector<std::string> out{std::string(kPeak)};
  for (const ShortName& known : kShortNames) out.emplace_back(known.name);
  for (const Input& input : inputs(job)) out.push_back(input.name);
  return out;
}

Job changed(Job job, const std::vector<Change>& changes) {
  for (const Change& change : changes) {
    for (const Setting& setting : change.settings) set_input(job, setting.input, setting.after);
  }
  std::vector<base::Fault> faults = check(job);
  if (!faults.empty()) throw base::InputError(std::move(faults));
  return job;
}

}  // namespace spec
