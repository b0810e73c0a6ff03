// SPDX-License-Identifier: Apache-2.0
#include "cli/measure_job.h"

#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <ostream>

#include "cli/job_flags.h"
#include "cli/measured_page.h"
#include "cli/measured_run.h"
#include "cli/output.h"
#include "core/base/fault.h"
#include "core/config/catalogue.h"
#include "core/plan/build.h"
#include "real/executor/token_file.h"
#include "real/measure/supported.h"
#include "real/trace/trace_file.h"
#include "reports/perfetto.h"

namespace cli {
namespace {

namespace fs = std::filesystem;

/// Of a file, or of a catalogue's job of this name.
std::string path_of(const std::string& job, const config::Catalogue& catalogue) {
  std::error_code ignored;
  if (fs::exists(job, ignored)) return fs::absolute(job);
  const std::string found = catalogue.path(config::Catalogue::Kind::job, job);
  return found.empty() ? job : found;  // the reader says what is wrong with it
}

std::string content_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/// Of a file of the workers, which is removed.
std::string taken(const std::string& path) {
  std::string out = content_of(path);
  std::error_code ignored;
  fs::remove(path, ignored);
  return out;
}

}  // namespace

MeasuredJob measured_job(const Arguments& arguments, int gpus_given) {
  const config::Catalogue catalogue = config::Catalogue::find();
  const std::string path = path_of(arguments.operands().front(), catalogue);
  MeasuredJob out{job_from(arguments, catalogue), gpus_given, {"run", path}, "", ""};
  const plan::Plan plan = plan::build(out.job);
  if (out.gpus == 0) out.gpus = plan.axes.ranks * plan.axes.stages;
  if (const auto faults = real::unsupported_on_gpu(out.job, plan, out.gpus); !faults.empty()) {
    throw base::InputError(faults);
  }
  const auto pass_on = [&](const std::string& option, const std::string& value) {
    out.words.insert(out.words.end(), {option, value});
  };
  for (const std::string& setting : job_settings(arguments)) pass_on("--set", setting);
  pass_on("--set", fmt::format("strategy.dp={}", plan.dp));  // the file's may have given way
  for (const char* option : {"--steps", "--warmup", "--tokens", "--json"}) {
    if (arguments.has(option)) pass_on(option, arguments.get(option));
  }
  // One that is wrong in its first step is told once, and not by every rank.
  if (arguments.has("--tokens")) real::tokens_of(arguments.get("--tokens"), spec::token_ids(out.job), 1, plan.tokens);
  const auto beside = [](const char* what) {
    return fs::temp_directory_path() / (fmt::format("forerun-{}-{}.json", what, getpid()));
  };
  if (arguments.has("--trace") || arguments.has("--html")) {
    out.recorded = beside("trace");
    pass_on("--trace", out.recorded);
  }
  if (arguments.has("--html")) {
    out.result = arguments.has("--json") ? arguments.get("--json") : beside("result").string();
    if (!arguments.has("--json")) pass_on("--json", out.result);
  }
  return out;
}

void write_recorded(const MeasuredJob& measured, const Arguments& arguments) {
  if (measured.recorded.empty()) return;
  const Against against = held_against(measured.job, real::read_recorded(taken(measured.recorded), measured.recorded));
  write_timeline(against, arguments);
  if (measured.result.empty()) return;
  const result::MeasuredRun run =
      run_on_gpus(arguments.has("--json") ? content_of(measured.result) : taken(measured.result));
  write_measured_page({&measured.job, &run, &against, "measure"}, arguments);
}

void write_timeline(const Against& against, const Arguments& arguments) {
  if (!arguments.has("--trace")) return;
  write_to(arguments.get("--trace"), "--trace", [&](std::ostream& out) {
    reports::write_perfetto({{"predicted", &against.predicted}, {"measured", &against.measured}}, out);
  });
}

}  // namespace cli
