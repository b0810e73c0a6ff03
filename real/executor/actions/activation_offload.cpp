// real/executor/actions/activation_offload.cpp -- activations of a layer that wait for their backward in the host's
// memory (core/plan/activation_offload.h). No operator can read a value that is there: where the Plan brings it back
// too late, the run ends and says so. SPDX-License-Identifier: Apache-2.0
#include <map>
#include <tuple>

#include "real/executor/actions.h"

namespace real {
namespace {

/// Tensors that show the same elements cross once.
class Crossings {
 public:
  template <class Cross>
  Tensor of(const Tensor& t, Cross cross) {
    Tensor& there = there_[{t.storage.get(), t.offset, t.count}];
    if (!there) there = cross();
    return there;
  }

 private:
  std::map<std::tuple<const Storage*, std::int64_t, std::int64_t>, Tensor> there_;
};

void activations_to_host(Task& task) {
  Crossings crossings;
  for (const std::string& name : task.rank.values.names(task.site, "")) {
    Value& value = task.rank.values.at(task.site, name);
    if (value && !made_again(task.rank, task.site, name, value)) {
      const Tensor t = task.read(value, name);
      task.rank.on_host.at(task.site, name).tensor = crossings.of(t, [&] { return task.backend.to_host(t); });
    }
    task.erase(name);
  }
}

void activations_to_device(Task& task) {
  Crossings crossings;
  for (const std::string& name : task.rank.on_host.names(task.site, "")) {
    const Tensor host = task.rank.on_host.at(task.site, name).tensor;
    task.leave(name, crossings.of(host, [&] {
      const Tensor t = task.backend.allocate(host.count, {host.meaning, plan::Category::activations});
      task.backend.to_device(host, t);
      return t;
    }));
    task.rank.on_host.erase(task.site, name);
  }
}

}  // namespace

void add_activation_offload_actions(Actions& actions) {
  actions["offload turn"] = nothing;
  actions["activations to host"] = activations_to_host;
  actions["activations to device"] = activations_to_device;
}

}  // namespace real
