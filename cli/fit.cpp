// cli/fit.cpp -- forerun fit [JOB] [flags] [--size NAME] [--json FILE]: the largest sequence, batch and model that fit.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "cli/command.h"
#include "cli/exit_code.h"
#include "cli/job_flags.h"
#include "cli/output.h"
#include "cli/terminal.h"
#include "core/base/fault.h"
#include "core/base/near_names.h"
#include "core/base/parallel.h"
#include "core/base/text.h"
#include "core/config/catalogue.h"
#include "core/config/job_reader.h"
#include "core/spec/parameters.h"
#include "reports/limits.h"
#include "sim/limits/sizes.h"
#include "sim/memory/tight.h"
#include "sim/predict.h"

namespace cli {
namespace {

const char kSize[] = "--size";

spec::Job with_settings(config::Value tree, const sim::Settings& settings, const config::Catalogue& catalogue) {
  for (const auto& [path, value] : settings) config::set_path(tree, path, value, path + "=" + value);
  return config::read_job(tree, catalogue);
}

std::int64_t parameters_of(const spec::Job& job) {
  return job.model.is_list() ? 0 : spec::parameters(job.model).total();
}

result::Prediction step_of(const spec::Job& job) { return sim::predict(job, sim::Detail::chains).prediction; }

/// Its own: a sequence beyond what the model was made for.
std::vector<std::string> new_warnings(const spec::Job& reached, const spec::Job& given) {
  const std::vector<std::string> old = spec::warnings(given);
  std::vector<std::string> out = spec::warnings(reached);
  std::erase_if(out, [&](const std::string& line) { return std::ranges::find(old, line) != old.end(); });
  return out;
}

std::string first_of(const base::InputError& error) {
  const base::Fault& first = error.faults.front();
  return (first.field.empty() ? "" : first.field + ": ") + first.what;
}

result::Limit limit_of(const sim::Size& size, const spec::Job& given, const config::Value& tree,
                       const config::Catalogue& catalogue) {
  result::Limit out;
  out.size = size.name;
  out.unit = size.unit;
  out.given = size.given;
  out.refusal = size.refusal;
  if (!out.refusal.empty()) return out;
  std::map<std::int64_t, std::string> refused;  // beyond the job's own value, what a Job cannot say
  try {
    const auto job_at = [&](std::int64_t value) { return with_settings(tree, size.settings(value), catalogue); };
    std::map<std::int64_t, result::Prediction> steps;  // each value is looked at once
    const auto step_at = [&](std::int64_t value) -> const result::Prediction& {
      const auto [at, fresh] = steps.try_emplace(value);
      if (fresh) at->second = step_of(job_at(value));
      return at->second;
    };
    const auto fits = [&](std::int64_t value) {
      try {
        return step_at(value).fits;
      } catch (const base::InputError& error) {
        if (value <= size.given) throw;
        refused[value] = first_of(error);
        return false;
      }
    };
    const sim::LastThatFits last = sim::last_that_fits(size.row, size.given, fits);
    out.reached = last.reached;
    out.next = last.next;
    if (last.next && refused.contains(*last.next)) {
      out.next_refusal = refused[*last.next];
    } else if (last.next) {
      out.next_prediction = step_at(*last.next);
    }
    if (!last.reached) return out;
    out.settings = size.settings(*last.reached);
    const spec::Job reached = job_at(*last.reached);
    out.parameters = parameters_of(reached);
    out.warnings = new_warnings(reached, given);
    out.prediction = step_at(*last.reached);
    out.tight = sim::is_tight(out.prediction.peak_bytes, out.prediction.capacity_bytes);
  } catch (const base::InputError& error) {
    out.refusal = first_of(error);
  }
  return out;
}

/// All, or the one that was asked for.
std::vector<sim::Size> asked(std::vector<sim::Size> all, const Arguments& args) {
  if (!args.has(kSize)) return all;
  std::vector<std::string> names;
  for (const sim::Size& size : all) names.push_back(size.name);
  const std::string wanted = args.get(kSize);
  std::erase_if(all, [&](const sim::Size& size) { return size.name != wanted; });
  if (!all.empty()) return all;
  throw base::InputError({{kSize,
                           "this job has no size '" + wanted + "' to grow",
                           base::nearest_or(wanted, names, fmt::format("choose {}", fmt::join(names, ", "))),
                           {}}});
}

int run_fit(const Arguments& args) {
  const config::Catalogue catalogue = config::Catalogue::find().remembering();
  const config::Value tree = job_tree(args, catalogue, 0);
  const spec::Job job = job_of(tree, args, catalogue);
  const std::vector<sim::Size> sizes = asked(sim::sizes_of(job), args);
  result::Limits answer;
  answer.given = step_of(job);
  answer.parameters = parameters_of(job);
  answer.limits.resize(sizes.size());
  base::parallel_for(sizes.size(), [&](std::size_t i) { answer.limits[i] = limit_of(sizes[i], job, tree, catalogue); });
  write_if_asked(args, "--json", [&] { return reports::json(answer); });
  if (args.get("--json") != "-") print(reports::text(answer, stdout_style()));
  const bool any = std::ranges::any_of(answer.limits, [](const auto& limit) { return limit.reached.has_value(); });
  return any ? kAnswered : kDoesNotFit;
}

}  // namespace

const Command fit{
    .name = "fit",
    .summary = "Finds the longest sequence, the largest microbatch and the largest model that fit.",
    .operands = {job_operand()},
    .options = with_job_flags({{kSize, "NAME", "only one of sequence, context, micro_batch, layers, width", false,
                                "sequence context micro_batch layers width"},
                               {"--json", "FILE", "write the result (docs/scale.md); - prints only it"}}),
    .notes = job_notes() +
             "Each size is grown, or shrunk, alone; all others stay as the job has them.\n"
             "\nexit codes: 0 at least one size can be made to fit, 1 none can, 2 the input is wrong\n",
    .examples = {{"forerun fit llama3-8b-32xh200 --set strategy.recompute=full", "every size"},
                 {"forerun fit llama3-8b-32xh200 --size sequence", "only the longest sequence"}},
    .run = run_fit,
};

}  // namespace cli
