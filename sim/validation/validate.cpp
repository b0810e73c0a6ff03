// SPDX-License-Identifier: Apache-2.0
#include "sim/validation/validate.h"

#include <algorithm>
#include <filesystem>
#include <mutex>

#include "core/base/fault.h"
#include "core/base/parallel.h"
#include "sim/predict.h"
#include "sim/validation/accuracy.h"

namespace sim {
namespace {

using result::ValidationCase;

std::string recompute_name(const spec::Recompute& recompute) {
  const std::string kind(name(recompute.kind));
  return recompute.layers > 0 ? kind + ' ' + std::to_string(recompute.layers) + " layers" : kind;
}

std::string model_name(const spec::Model& model) {
  if (!model.name.empty()) return model.name;
  return std::to_string(model.layers) + " layers of " + std::to_string(model.hidden);
}

std::string cluster_name(const spec::Cluster& cluster) {
  std::string name = spec::nodes_text(cluster);
  name += " (" + spec::gpus_text(cluster) + ")";
  return cluster.nodes > 1 ? name + ", " + cluster.fabric.name : name;
}

void label(const spec::Job& job, ValidationCase& row) {
  const spec::Strategy& s = job.strategy;
  const auto add = [&](const char* key, std::string value) { row.labels.emplace_back(key, std::move(value)); };
  add("gpu", job.cluster.node.gpu.name);
  add("tp", std::to_string(s.tp));
  add("pp", std::to_string(s.pp));
  add("dp", std::to_string(s.data()));
  add("cp", std::to_string(s.cp));
  add("ep", std::to_string(s.ep));
  add("zero", std::to_string(s.zero));
  add("nodes", std::to_string(job.cluster.nodes));
  add("recompute", recompute_name(s.recompute));
  add("kernel", s.attention_kernel ? std::string(spec::name(*s.attention_kernel)) : "?");
  add("framework", s.framework);
  add("precision", std::string(spec::name(job.training.precision)));
  add("micro_batch", std::to_string(job.training.micro_batch));
  add("sequence", std::to_string(job.training.sequence));
  add("model", model_name(job.model));
  row.tokens = static_cast<double>(job.training.global_batch) * static_cast<double>(job.training.sequence);
  row.ranked_with = model_name(job.model) + " on " + cluster_name(job.cluster);
}

/// The figure that a measurement of `kind` is compared with. One that does not say how it was taken is most likely a
/// framework's own log, hence the allocator's: what it reserved lies between the other two, and is nowhere far off. And
/// it is the first rank that logs (nanotron, src/nanotron/helpers.py, log_throughput).
std::int64_t counted_as(const std::string& kind, const result::Prediction& prediction) {
  if (kind == "allocated") return prediction.allocated_bytes;
  if (kind == "smi") return prediction.smi_bytes;
  const bool logged = kind == "unknown" && !prediction.stages.empty();
  return logged ? prediction.stages.front().reserved_bytes : prediction.reserved_bytes;
}

void run(config::Case& work) {
  if (work.row.refused() || !work.job) return;
  label(*work.job, work.row);
  try {
    compare(predict(*work.job, Detail::chains).prediction, work.row);
  } catch (const base::InputError& error) {
    work.row.error_message = error.what();
  } catch (const std::bad_alloc&) {
    work.row.error_message = "error: there is not enough memory on this machine for this job";
  } catch (const std::exception& error) {
    work.row.error_message = std::string("error: forerun itself is wrong, please report it: ") + error.what();
  }
  work.job.reset();  // a thousand jobs hold calibrations of their own
}

}  // namespace

void keep_tier(const std::string& tier, std::vector<config::CaseFile>& files) {
  if (tier.empty()) return;
  for (config::CaseFile& file : files) {
    std::erase_if(file.cases, [&](const config::Case& one) { return !one.row.tier.empty() && one.row.tier != tier; });
  }
}

void compare(const result::Prediction& prediction, ValidationCase& row) {
  row.predicted_s = prediction.step_time_s;
  row.low_s = prediction.step_time_low_s;
  row.high_s = prediction.step_time_high_s;
  row.interval_contributions = prediction.interval_contributions;
  row.fits = prediction.fits;
  row.predicted_bytes = counted_as(row.memory_kind, prediction);
  row.warnings = prediction.warnings;
  if (row.measured_s) {
    row.error = *row.predicted_s / *row.measured_s - 1;
    row.inside = *row.measured_s >= *row.low_s && *row.measured_s <= *row.high_s;
  }
  if (row.measured_bytes) {
    row.memory_error = static_cast<double>(*row.predicted_bytes) / static_cast<double>(*row.measured_bytes) - 1;
  }
}

result::Validation validate(std::vector<config::CaseFile> files, const std::string& tier, const Progress& progress) {
  keep_tier(tier, files);
  std::vector<config::Case*> all;
  for (config::CaseFile& file : files) {
    for (config::Case& work : file.cases) all.push_back(&work);
  }
  std::mutex guard;
  std::size_t done = 0;
  base::parallel_for(all.size(), [&](std::size_t i) {
    run(*all[i]);
    const std::lock_guard lock(guard);
    ++done;
    if (progress) progress(done, all.size());
  });

  result::Validation out;
  for (config::CaseFile& file : files) {
    result::ValidationFile& told = out.files.emplace_back();
    told.file = file.path;
    told.source = std::move(file.source);
    const std::string stem = std::filesystem::path(file.path).stem().string();
    for (config::Case& work : file.cases) {
      work.row.labels.emplace_back("source", stem);
      told.cases.push_back(std::move(work.row));
    }
  }
  for (result::ValidationFile& file : out.files) {
    Rows rows;
    for (const ValidationCase& row : file.cases) rows.push_back(&row);
    file.summary = summary_of(rows);
    file.rankings = rankings_of(rows);
  }
  out.summary = summary_of(rows_of(out.files));
  out.macro = macro_of(out.files);
  return out;
}

}  // namespace sim
