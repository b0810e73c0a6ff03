// SPDX-License-Identifier: Apache-2.0
#include "core/config/change_reader.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "core/base/near_names.h"
#include "core/base/number.h"
#include "core/base/text.h"
#include "core/base/trimmed.h"

namespace config {
namespace {

using spec::InputUnit;

const char kHow[] = "write NAME=2x, NAME=+10% or NAME=VALUE with its unit, such as nic=800Gb/s";

/// What stands behind the '='.
struct Amount {
  std::optional<double> factor, value;
  std::string problem, mend;
};

std::optional<double> number(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  const auto out = base::number_in<double>(text);
  return out && std::isfinite(*out) ? out : std::nullopt;
}

template <class Q>
Amount value_of(const base::Parsed<Q>& parsed) {
  if (!parsed.value) return {{}, {}, parsed.problem, parsed.mend};
  return {{}, parsed.value->si(), {}, {}};
}

Amount read_value(std::string_view text, InputUnit unit) {
  switch (unit) {
    case InputUnit::seconds: return value_of(base::parse_seconds(text));
    case InputUnit::bytes: return value_of(base::parse_bytes(text));
    case InputUnit::byte_rate: return value_of(base::parse_byte_rate(text));
    case InputUnit::flop_rate: return value_of(base::parse_flop_rate(text));
    case InputUnit::watts: return value_of(base::parse_watts(text));
    case InputUnit::ratio:
    case InputUnit::count: break;
  }
  if (const auto plain = number(text)) return {{}, plain, {}, {}};
  return {{}, {}, base::quoted(text) + " is not a number", "it has no unit: write a number, such as 0.9, or 2x"};
}

Amount read_amount(std::string_view text, InputUnit unit) {
  if (text.ends_with('x')) {
    if (const auto factor = number(text.substr(0, text.size() - 1))) return {factor, {}, {}, {}};
  }
  if (text.ends_with('%')) {
    const auto percent = number(text.substr(0, text.size() - 1));
    if (percent && (text.starts_with('+') || text.starts_with('-'))) return {1 + *percent / 100, {}, {}, {}};
    return {{}, {}, base::quoted(text) + " does not say more or less", "write +10% or -10%"};
  }
  return read_value(text, unit);
}

/// In the unit's own digits: "4e+12 B/s".
std::string text_of(const spec::Input& input) {
  const std::string_view unit = spec::symbol(input.unit);
  if (unit == "s") return base::human(base::Seconds(input.value));
  if (unit == "B") return base::human(base::Bytes(input.value));
  if (unit == "B/s") return base::human(base::ByteRate(input.value));
  if (unit == "FLOP/s") return base::human(base::FlopRate(input.value));
  char number[32];
  std::snprintf(number, sizeof number, "%.6g", input.value);
  return unit.empty() ? number : number + (' ' + std::string(unit));
}

/// Bytes are counted in 64 bits, whole numbers in 32; the rest has only to be a number that seconds come out of.
double most_of(InputUnit unit) { return unit == InputUnit::bytes ? 1e18 : unit == InputUnit::count ? 1e6 : 1e24; }

std::string problem_of(const spec::Input& input, double after) {
  if (after == 0 && input.unit == InputUnit::seconds) return "";
  if (!(after > 0)) return "zero or less";
  if (after < input.least) return "less than it can be";
  if (after > input.most) return "more than it can be";
  return after < most_of(input.unit) ? "" : "more than can be reckoned with";
}

class ChangeReader {
 public:
  ChangeReader(const spec::Job& job, std::string_view option) : job_(job), option_(option) {}

  spec::Changes run(std::string_view text) {
    while (true) {
      const std::size_t comma = text.find(',');
      const std::string written(base::trimmed(text.substr(0, comma)));
      spec::Change change{written, {}};
      one(change);
      if (faults_.empty()) {
        for (const spec::Setting& setting : change.settings) set_.insert(setting.input);
        changes_.sound.push_back(std::move(change));
      } else {
        changes_.refused.push_back({written, std::exchange(faults_, {})});
      }
      if (comma == text.npos) break;
      text.remove_prefix(comma + 1);
    }
    return std::move(changes_);
  }

 private:
  void one(spec::Change& change) {
    const std::string& written = change.written;
    const std::size_t equals = written.find('=');
    if (equals == written.npos || equals == 0 || equals + 1 == written.size()) {
      return fault("", base::quoted(written) + " is no change", kHow);
    }
    const std::string name(base::trimmed(written.substr(0, equals))), text(base::trimmed(written.substr(equals + 1)));
    const auto kinds = spec::inputs_named(job_, name);
    if (kinds.empty()) return unknown(name);
    for (const std::vector<spec::Input>& group : kinds) add(name, text, group, change.settings);
  }

  void unknown(const std::string& name) {
    const std::vector<std::string> names = spec::input_names(job_);
    std::string few;
    for (const std::string& known : names) {
      if (known.find('.') == known.npos || known == "gpu.peak") few += (few.empty() ? "" : ", ") + known;
    }
    fault(name, "is no input of this job",
          base::nearest_and(name, names,
                            "short names: " + few + "; --sensitivity --json - lists all that the step uses"));
  }

  void add(const std::string& name, const std::string& text, const std::vector<spec::Input>& group,
           std::vector<spec::Setting>& out) {
    const spec::Input& lead = group.front();
    const Amount amount = read_amount(text, lead.unit);
    if (!amount.factor && !amount.value) return fault(name, amount.problem, amount.mend);
    if (name == "nvlink" && !(lead.value > 0)) {
      return fault(name, "is none on this node",
                   "write it into the Job: --set cluster.node.nvlink={bandwidth: 450GB/s, "
                   "domain: 8, switch: nvswitch}");
    }
    if (amount.factor && !(lead.value > 0)) {
      return fault(name, "is zero, and stays so whatever it is multiplied by", "write a value with its unit");
    }
    for (const spec::Input& input : group) {
      const double factor = amount.factor ? *amount.factor : *amount.value / lead.value;
      double after = lead.value > 0 ? input.value * factor : *amount.value;
      if (input.unit == InputUnit::count) after = std::round(after);
      if (input.value == 0 && after == 0) continue;
      if (const std::string problem = problem_of(input, after); !problem.empty()) {
        return fault(name, base::quoted(text) + " would make it " + problem,
                     "write a value nearer to that of today, " + text_of(input));
      }
      if (set_.contains(input.name)) return fault(name, "is changed twice", "keep one of the two");
      out.push_back({input.name, input.unit, input.value, after});
    }
  }

  void fault(const std::string& name, const std::string& what, const std::string& mend) {
    faults_.push_back({std::string(option_) + (name.empty() ? "" : " " + name), what, mend, {}});
  }

  const spec::Job& job_;
  std::string_view option_;
  spec::Changes changes_;
  std::vector<base::Fault> faults_;  // of the change that is being read
  std::set<std::string> set_;        // inputs of the sound ones
};

}  // namespace

spec::Changes read_changes(std::string_view text, const spec::Job& job, std::string_view option) {
  return ChangeReader(job, option).run(text);
}

}  // namespace config
