// SPDX-License-Identifier: Apache-2.0
#include "cli/measure_job.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <ostream>

#include "cli/against.h"
#include "cli/job_flags.h"
#include "cli/output.h"
#include "core/base/fault.h"
#include "core/config/catalogue.h"
#include "core/plan/build.h"
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

}  // namespace

MeasuredJob measured_job(const Arguments& arguments, int gpus_given) {
  const config::Catalogue catalogue = config::Catalogue::find();
  const std::string path = path_of(arguments.operands().front(), catalogue);
  MeasuredJob out{job_from(arguments, catalogue), gpus_given, {"run", path}, ""};
  const plan::Plan plan = plan::build(out.job);
  if (out.gpus == 0) out.gpus = plan.axes.ranks * plan.axes.stages;
  if (const auto faults = real::unsupported_on_gpu(out.job, plan, out.gpus); !faults.empty()) {
    throw base::InputError(faults);
  }
  const auto pass_on = [&](const std::string& option, const std::string& value) {
    out.words.insert(out.words.end(), {option, value});
  };
  for (const std::string& setting : job_settings(arguments)) pass_on("--set", setting);
  for (const char* option : {"--steps", "--warmup", "--json"}) {
    if (arguments.has(option)) pass_on(option, arguments.get(option));
  }
  if (arguments.has("--trace")) {
    out.recorded = fs::temp_directory_path() / ("forerun-trace-" + std::to_string(getpid()) + ".json");
    pass_on("--trace", out.recorded);
  }
  return out;
}

void write_timeline(const MeasuredJob& measured, const Arguments& arguments) {
  if (measured.recorded.empty()) return;
  std::ifstream in(measured.recorded, std::ios::binary);
  trace::Trace recorded = real::read_trace({std::istreambuf_iterator<char>(in), {}});
  std::error_code ignored;
  fs::remove(measured.recorded, ignored);
  write_timeline(measured.job, std::move(recorded), "gpu", arguments);
}

void write_timeline(const spec::Job& job, trace::Trace recorded, const std::string& source,
                    const Arguments& arguments) {
  const trace::Recorded predicted = predicted_step(job);
  trace::Recorded measured{source, predicted.facts, {}, std::move(recorded), predicted.kinds};
  if (source == "cpu") measured.notes.push_back("recorded on a CPU: its times say nothing of a GPU");
  write_to(arguments.get("--trace"), "--trace", [&](std::ostream& out) {
    reports::write_perfetto({{"predicted", &predicted}, {"measured", &measured}}, out);
  });
}

}  // namespace cli
