// SPDX-License-Identifier: Apache-2.0
#include "forerun/forerun.h"

#include <cstdlib>
#include <filesystem>
#include <utility>

#include "core/config/job_file.h"
#include "core/config/job_reader.h"
#include "core/config/search_reader.h"
#include "reports/json.h"
#include "reports/perfetto.h"
#include "sim/advice.h"
#include "sim/memory/mends.h"
#include "sim/predict.h"
#include "sim/search/search.h"

namespace forerun {
namespace {

/// What a program of somebody else's is installed beside says nothing of where our data is.
std::string found_data() {
  std::error_code ignored;
  const char* const set = std::getenv("FORERUN_DATA");
  const bool is_set = set != nullptr && *set != '\0';
  if (!is_set && std::filesystem::is_directory(FORERUN_INSTALLED_DATA, ignored)) return FORERUN_INSTALLED_DATA;
  return config::Catalogue::find().root();
}

config::Value with(config::Value tree, const Settings& settings) {
  for (const Setting& one : settings) config::set_path(tree, one.path, one.value, one.path + "=" + one.value);
  return tree;
}

}  // namespace

Forerun::Forerun() : Forerun(found_data()) {}
Forerun::Forerun(std::string data_folder) : data_folder_(std::move(data_folder)) {}

Job Forerun::job(const std::string& file_or_name, const Settings& settings) const {
  const config::Catalogue catalogue(data_folder_);
  return config::read_job(with(config::load_job(file_or_name, catalogue), settings), catalogue);
}

Job Forerun::job_of(std::string_view yaml, const Settings& settings, const std::string& name) const {
  return config::read_job(with(config::parse(yaml, name), settings), config::Catalogue(data_folder_));
}

Search Forerun::search(const std::string& file_or_name, const Settings& settings, const SearchLimits& limits) const {
  const config::Catalogue catalogue(data_folder_);
  const auto open = config::read_open_job(with(config::load_job(file_or_name, catalogue), settings), catalogue);
  sim::SearchOptions options;
  options.top = limits.top;
  options.threads = limits.threads;
  Search out = sim::search(open.job, open.space, options);
  out.by = "step_time";
  return out;
}

Answer predict(const Job& job) {
  sim::Outcome outcome = sim::predict(job, sim::Detail::operators);
  sim::advise(job, outcome.prediction);
  return {std::move(outcome.prediction), std::move(outcome.trace)};
}

Prediction predict_time(const Job& job) {
  Prediction out = sim::predict(job, sim::Detail::chains).prediction;
  if (!out.fits) out.mends = sim::changes_that_fit(job);
  return out;
}

std::string json(const Prediction& prediction) { return reports::json(prediction); }

void write_perfetto(const Trace& trace, std::ostream& out) { reports::write_perfetto(trace, out); }

}  // namespace forerun
