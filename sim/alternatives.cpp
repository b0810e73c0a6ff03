// SPDX-License-Identifier: Apache-2.0
#include "sim/alternatives.h"

#include <string>

#include "core/base/parallel.h"
#include "sim/predict.h"

namespace sim {
namespace {

result::Alternative named(const std::string& name, const std::vector<spec::Change>& changes) {
  result::Alternative out;
  out.change = name;
  for (const spec::Change& change : changes) {
    for (const spec::Setting& s : change.settings) {
      out.inputs.push_back({s.input, std::string(spec::symbol(s.unit)), s.before, s.after});
    }
  }
  return out;
}

}  // namespace

result::Alternatives alternatives(const spec::Job& job, const std::vector<spec::Change>& changes) {
  std::vector<std::vector<spec::Change>> cases;
  result::Alternatives out;
  for (const spec::Change& change : changes) {
    cases.push_back({change});
    out.after.push_back(named(change.written, cases.back()));
  }
  if (changes.size() > 1) {
    cases.push_back(changes);
    out.after.push_back(named("together", changes));
  }
  out.before = predict(job, Detail::chains).prediction;
  base::parallel_for(cases.size(), [&](std::size_t i) {
    out.after[i].prediction = predict(spec::changed(job, cases[i]), Detail::chains).prediction;
  });
  return out;
}

}  // namespace sim
