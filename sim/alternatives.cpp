// SPDX-License-Identifier: Apache-2.0
#include "sim/alternatives.h"

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/fault.h"
#include "core/base/parallel.h"
#include "sim/predict.h"

namespace sim {
namespace {

const char kTogether[] = "together";

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

result::Prediction step_of(const spec::Job& job) { return predict(job, Detail::chains).prediction; }

/// The step with the changes, or the faults of the job that they make.
struct Tried {
  std::optional<result::Prediction> step;
  std::vector<base::Fault> faults;
};

Tried tried(const spec::Job& job, const std::vector<spec::Change>& changes) {
  try {
    return {step_of(spec::changed(job, changes)), {}};
  } catch (const base::InputError& error) {
    return {{}, error.faults};
  }
}

/// Of a fault that the reader found the field names option and input, which the change does as well; of one of the
/// changed job, a key.
result::RefusedChange refused(const std::string& change, const base::Fault& fault, bool of_changed_job) {
  return {change, (of_changed_job && !fault.field.empty() ? fault.field + ": " : "") + fault.what, fault.mend};
}

}  // namespace

result::Alternatives alternatives(const spec::Job& job, const spec::Changes& changes) {
  result::Alternatives out;
  for (const spec::RefusedChange& one : changes.refused) {
    out.refused.push_back(refused(one.written, one.faults.front(), false));
  }
  const std::size_t count = changes.sound.size();
  std::vector<Tried> alone(count);
  base::parallel_for(count + 1, [&](std::size_t i) {
    if (i == 0) {
      out.before = step_of(job);
    } else {
      alone[i - 1] = tried(job, {changes.sound[i - 1]});
    }
  });
  std::vector<spec::Change> possible;
  const auto add = [&](const std::string& name, const std::vector<spec::Change>& made, Tried&& result) {
    if (!result.step) return out.refused.push_back(refused(name, result.faults.front(), true));
    out.after.push_back(named(name, made));
    out.after.back().prediction = std::move(*result.step);
  };
  for (std::size_t i = 0; i < count; ++i) {
    if (alone[i].step) possible.push_back(changes.sound[i]);
    add(changes.sound[i].written, {changes.sound[i]}, std::move(alone[i]));
  }
  if (possible.size() > 1) add(kTogether, possible, tried(job, possible));
  return out;
}

}  // namespace sim
