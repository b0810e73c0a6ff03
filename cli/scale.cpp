// cli/scale.cpp -- forerun scale [JOB] [flags] --gpus 8..16384 [--kind strong|weak] [--search] [--json FILE]
// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/command.h"
#include "cli/exit_code.h"
#include "cli/gpu_counts.h"
#include "cli/job_flags.h"
#include "cli/launchable.h"
#include "cli/number.h"
#include "cli/open_job.h"
#include "cli/output.h"
#include "cli/progress.h"
#include "cli/stated_dp.h"
#include "cli/terminal.h"
#include "core/base/fault.h"
#include "core/base/parallel.h"
#include "core/config/catalogue.h"
#include "core/config/job_reader.h"
#include "reports/scaling.h"
#include "sim/compare.h"
#include "sim/scaling.h"
#include "sim/search/search.h"

namespace cli {
namespace {

using result::ComparisonRow;
using result::ScalingKind;
using result::ScalingPoint;

const char kGpus[] = "--gpus", kKind[] = "--kind", kSearch[] = "--search", kEfficiency[] = "--efficiency";

std::vector<ScalingKind> kinds_of(const Arguments& args) {
  const std::string kind = args.get(kKind);
  if (kind.empty()) return {ScalingKind::strong, ScalingKind::weak};
  if (kind == result::name(ScalingKind::strong)) return {ScalingKind::strong};
  if (kind == result::name(ScalingKind::weak)) return {ScalingKind::weak};
  throw base::InputError(
      {{kKind, "there is no kind '" + kind + "'", "write strong, weak, or leave it out for both", {}}});
}

void refuse_what_only_a_search_reads(const Arguments& args) {
  if (args.has(kSearch)) return;
  std::vector<base::Fault> faults;
  for (const std::string& flag : given_search_flags(args)) {
    faults.push_back({flag, "says what a search chooses, and there is none", "add --search, or leave it out", {}});
  }
  if (!faults.empty()) throw base::InputError(std::move(faults));
}

/// A Job's tree and what it is on the GPUs that it names itself.
struct Base {
  config::Value tree;
  std::string title;
  int gpus = 0, node_gpus = 0, global_batch = 0;
};

void set(config::Value& tree, std::string_view path, int value) {
  config::set_path(tree, path, std::to_string(value), kGpus);
}

/// A job that does not say how many nodes it has stands on the fewest of `counts` that its strategy can have.
void fill_nodes(config::Value& tree, const Arguments& args, const config::Catalogue& catalogue,
                const std::vector<int>& counts) {
  const config::Value* cluster = tree.find("cluster");
  if (cluster == nullptr || cluster->kind != config::Value::Kind::map || cluster->find("nodes")) return;
  const int node_gpus = open_job(tree, args, catalogue).job.cluster.node.gpus;
  for (const int gpus : counts) {
    if (gpus % node_gpus != 0) continue;
    config::Value sized = tree;
    set(sized, "cluster.nodes", gpus / node_gpus);
    try {
      config::read_job(sized, catalogue);
    } catch (const base::InputError&) {
      continue;  // its cut does not divide so many; what else is wrong with it is told where the job is read
    }
    tree = std::move(sized);
    return;
  }
}

Base base_of(const Arguments& args, const config::Catalogue& catalogue, const std::vector<int>& counts) {
  Base out;
  out.tree = job_tree(args, catalogue, 0);
  if (!args.has(kSearch)) fill_nodes(out.tree, args, catalogue, counts);
  const spec::Job job = args.has(kSearch) ? open_job(out.tree, args, catalogue).job : job_of(out.tree, args, catalogue);
  if (job.cluster.mixed()) {
    throw base::InputError({{"cluster", "has nodes of several kinds, and more GPUs could be of any of them",
                             "scale a cluster of one kind of node", config::place_of(out.tree, "cluster.node")}});
  }
  out.title = job.model.name + " on " + job.cluster.node.name;
  out.gpus = job.cluster.gpus();
  out.node_gpus = job.cluster.node.gpus;
  out.global_batch = job.training.global_batch;
  return out;
}

/// Why the job has no such size; empty: it has.
std::string unsound(const Base& base, ScalingKind kind, int gpus) {
  if (gpus > base.node_gpus && gpus % base.node_gpus != 0) {
    return std::to_string(gpus) + " GPUs are no whole number of nodes of " + std::to_string(base.node_gpus);
  }
  const std::int64_t sequences = std::int64_t{base.global_batch} * gpus;
  if (kind == ScalingKind::weak && sequences % base.gpus != 0) {
    return "global_batch would be no whole number: " + std::to_string(base.global_batch) + " x " +
           std::to_string(gpus) + " / " + std::to_string(base.gpus);
  }
  return "";
}

/// The job on `gpus` GPUs; what it leaves of them is data parallel. Sets the point's batch.
config::Value sized(const Base& base, ScalingKind kind, ScalingPoint& point) {
  config::Value tree = base.tree;
  const bool is_part_of_node = point.gpus < base.node_gpus;
  if (is_part_of_node) set(tree, "cluster.node.gpus", point.gpus);
  set(tree, "cluster.nodes", is_part_of_node ? 1 : point.gpus / base.node_gpus);
  point.global_batch = base.global_batch;
  if (kind == ScalingKind::weak) {
    point.global_batch = static_cast<int>(std::int64_t{base.global_batch} * point.gpus / base.gpus);
    set(tree, "training.global_batch", point.global_batch);
  }
  drop_dp(tree);
  return tree;
}

ComparisonRow as_given(const config::Value& tree, const config::Catalogue& catalogue) {
  sim::Candidate candidate;
  candidate.sound = config::read_job(tree, catalogue);
  return sim::predicted(std::move(candidate));
}

ComparisonRow as_searched(const config::Value& tree, const Arguments& args, const config::Catalogue& catalogue,
                          const std::string& where, UnlaunchableBest& unlaunchable) {
  const config::OpenJob open = open_job(tree, args, catalogue);
  sim::SearchOptions options;
  options.top = 1;
  options.wanted = launchable_alone(args, tree, catalogue, open.job.framework);
  result::Search found = sim::search(open.job, open.space, options);
  refuse_if_none_is_launchable(found, open.job.framework.launcher);
  unlaunchable.judge(where, tree, open.job.framework.launcher, found);
  ComparisonRow row;
  if (found.results.empty()) {
    row.refusal = "no strategy fits";
    return row;
  }
  row.status = ComparisonRow::Status::fits;
  row.varied = std::move(found.results.front().strategy);
  row.prediction = std::move(found.results.front().prediction);
  return row;
}

ScalingPoint point_of(const Base& base, ScalingKind kind, int gpus, const Arguments& args,
                      const config::Catalogue& catalogue, UnlaunchableBest& unlaunchable) {
  ScalingPoint point;
  point.gpus = gpus;
  point.row.refusal = unsound(base, kind, gpus);
  if (!point.row.refusal.empty()) return point;
  try {
    const config::Value tree = sized(base, kind, point);
    const std::string where = std::to_string(gpus) + " GPUs in " + std::string(result::name(kind)) + " scaling";
    point.row = args.has(kSearch) ? as_searched(tree, args, catalogue, where, unlaunchable) : as_given(tree, catalogue);
  } catch (const base::InputError& error) {
    const base::Fault& first = error.faults.front();
    point.row.refusal = (first.field.empty() ? "" : first.field + ": ") + first.what;
  }
  if (point.row.status == ComparisonRow::Status::refused) point.global_batch = 0;
  return point;
}

result::ScalingCurve curve_of(const Base& base, ScalingKind kind, const std::vector<int>& counts, double threshold,
                              const Arguments& args, const config::Catalogue& catalogue,
                              UnlaunchableBest& unlaunchable) {
  std::vector<ScalingPoint> points(counts.size());
  const auto fill = [&](std::size_t i) { points[i] = point_of(base, kind, counts[i], args, catalogue, unlaunchable); };
  if (args.has(kSearch)) {  // a search has all cores to itself
    ProgressBar bar(std::string(result::name(kind)) + " scaling");
    for (std::size_t i = 0; i < counts.size(); ++i) {
      fill(i);
      bar.show(i + 1, counts.size());
    }
  } else {
    base::parallel_for(counts.size(), fill);
  }
  return sim::scaling_curve(kind, std::move(points), threshold);
}

int run_scale(const Arguments& args) {
  const std::string taken = on_stdout(args, {"--json", "--csv"});
  if (!args.has(kGpus)) throw base::InputError({{kGpus, "is missing", "write --gpus 8..16384", {}}});
  const std::vector<int> counts = gpu_counts(args.get(kGpus), kGpus);
  refuse_what_only_a_search_reads(args);
  const std::vector<ScalingKind> kinds = kinds_of(args);
  const config::Catalogue catalogue = config::Catalogue::find().remembering();
  const Base base = base_of(args, catalogue, counts);
  result::Scaling answer{.job = base.title, .searched = args.has(kSearch), .curves = {}, .notes = {}};
  answer.efficiency = number_of(args, kEfficiency, 0.8, 0.0, 1.0);
  UnlaunchableBest unlaunchable(catalogue);
  for (const ScalingKind kind : kinds) {
    answer.curves.push_back(curve_of(base, kind, counts, answer.efficiency, args, catalogue, unlaunchable));
  }
  answer.notes = unlaunchable.notes();
  write_if_asked(args, "--json", [&] { return reports::json(answer); });
  write_if_asked(args, "--csv", [&] { return reports::csv(answer); });
  if (taken.empty()) print(reports::text(answer, stdout_style()));
  for (const result::ScalingCurve& curve : answer.curves) {
    for (const ScalingPoint& point : curve.points) {
      if (point.row.status == ComparisonRow::Status::fits) return kAnswered;
    }
  }
  return kDoesNotFit;
}

}  // namespace

const Command scale{
    .name = "scale",
    .summary = "Predicts a job on more and more GPUs: strong and weak scaling.",
    .operands = {job_operand()},
    .options = with_job_flags(with_search_flags(
        {{kGpus, "COUNTS", "8..16384 doubles from 8; or 8,16,24"},
         {kKind, "KIND", "strong: the global batch stays; weak: it grows with the GPUs; both by default", false,
          "strong weak"},
         {kEfficiency, "SHARE", "tell where efficiency falls under it; 0.8 by default"},
         {kSearch, "", "each point with its own best strategy: keys that the file does not fix are searched"},
         {"--json", "FILE", "write the result (docs/scale.md); - prints only it"},
         {"--csv", "FILE", "write a table for spreadsheets; - prints only it"}})),
    .notes = job_notes() +
             "The strategy stays as the job has it, and what it leaves of the GPUs is data parallel.\n"
             "\nexit codes: 0 at least one point fits, 1 none does, 2 the input is wrong\n",
    .examples = {{"forerun scale llama3-70b-64xh100 --gpus 64..1024 --kind weak", "the batch grows with the GPUs"},
                 {"forerun scale llama3-8b-32xh200 --gpus 8,16 --search --fix pp=1 --fix tp=1",
                  "each point with its own best strategy"}},
    .run = run_scale,
};

}  // namespace cli
