// tests/fuzz/config_target.h -- one input of the readers' fuzzer, and what must hold of it. The fuzzer makes inputs,
// replay_test.cpp replays those that were kept (tests/fuzz/corpus).
//
// The first byte says what the rest is: J Job, M model, N node, G GPU, F fabric, W framework, C calibration, H a
// config.json, S path=value lines laid over a sound Job as --set does, T a recorded step, K a profile of PyTorch's.
// Anything else is read as a Job.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <limits>
#include <sstream>
#include <string>
#include <string_view>

#include "core/config/calibration_reader.h"
#include "core/config/job_reader.h"
#include "core/config/kineto.h"
#include "core/config/recorded_trace.h"
#include "core/plan/build.h"
#include "core/spec/parameters.h"
#include "sim/predict.h"
#include "tests/core/config/small_catalogue.h"

namespace fuzz {

/// Seconds of processor time that one input may take. The slowest of the corpus takes 0.4 s under the sanitizers, and
/// twice that where neighbours share the core and its caches; what is stuck takes any number.
inline constexpr double kSlowest = 5;

/// Ends the process, so that the fuzzer keeps the input and a test run shows which it was.
[[noreturn]] inline void broken(const std::string& why) {
  std::fprintf(stderr, "fuzz: %s\n", why.c_str());
  std::abort();
}

inline void require(bool holds, const std::string& why) {
  if (!holds) broken(why);
}

/// A message without place or mend is a defect whatever the input was.
inline void check_faults(const config::Faults& faults) {
  for (const base::Fault& fault : faults) {
    const std::string text = base::to_string(fault);
    require(!fault.where.file.empty(), "a fault without a place: " + text);
    require(!fault.what.empty() && !fault.mend.empty(), "a fault that does not say how to mend it: " + text);
  }
}

/// A sound Job is planned when the plan is small, and simulated when that is a matter of milliseconds.
inline void use(const spec::Job& job) {
  const spec::Strategy& s = job.strategy;
  const std::int64_t chunks = std::int64_t{s.pp} * s.vpp, microbatches = spec::microbatches(job);
  for (const base::Fault& fault : spec::check(job)) broken("a resolved job has a fault: " + base::to_string(fault));
  if (job.model.layers > 256 || chunks > 64 || microbatches > 256) return;
  require(plan::build(job).operators() > 0, "a plan without operators");
  if (job.model.layers > 16 || chunks > 8 || microbatches > 8 || job.simulation.unfold) return;
  result::Prediction answer;
  try {
    answer = sim::predict(job).prediction;
  } catch (const base::InputError&) {
    return;  // a step of days, which only its prices show
  }
  require(std::isfinite(answer.step_time_s) && answer.step_time_s > 0, "a step without an end");
  require(answer.peak_bytes > 0, "a step without memory");
}

inline void use(const spec::Model& model) {
  require(spec::parameters(model).total() > 0, "a model without parameters");
}

inline void read_set_lines(std::string_view lines, const config::Catalogue& catalogue) {
  config::Value job = config::parse(
      "{model: small, cluster: {node: box-8}, training: {sequence: 1024, global_batch: 64}, strategy: {tp: 2}}", "job");
  while (!lines.empty()) {
    const std::string_view line = lines.substr(0, lines.find('\n'));
    lines.remove_prefix(std::min(lines.size(), line.size() + 1));
    const std::size_t equals = line.find('=');
    if (equals == std::string_view::npos) continue;
    config::set_path(job, line.substr(0, equals), line.substr(equals + 1), "--set " + std::string(line));
  }
  use(config::read_job(job, catalogue));
}

inline void use(const trace::Recorded& step) {
  const trace::Trace& trace = step.trace;
  require(!trace.tracks.empty() && trace.tracks.size() % trace.streams == 0, "tracks that are not streams times ranks");
  for (const trace::Track& track : trace.tracks) {
    trace::Ticks at = std::numeric_limits<trace::Ticks>::min();
    for (const trace::Span& span : track.spans) {
      require(at <= span.start && span.ready <= span.start && span.start <= span.end, "spans out of order");
      require(span.work < static_cast<std::int32_t>(step.kinds.size()), "a span of no kind");
      at = span.end;
    }
  }
}

inline void read_as(char kind, std::string_view text, const config::Catalogue& catalogue) {
  if (kind == 'S') return read_set_lines(text, catalogue);
  std::istringstream stream{std::string(text)};
  if (kind == 'T') return use(config::read_recorded(stream, "input").measured);
  if (kind == 'K') return use(config::read_kineto(stream, "input").recorded);
  const config::Value tree = config::parse(text, "input");
  config::Faults faults;
  switch (kind) {
    case 'M':
    case 'H':
      if (const spec::Model model = catalogue.model(tree, "model", faults); faults.empty() && model.kind != "layers")
        use(model);
      break;
    case 'N': catalogue.node(tree, "cluster.node", faults); break;
    case 'G': catalogue.gpu(tree, "gpu", faults); break;
    case 'F': catalogue.fabric(tree, "cluster.fabric", faults); break;
    case 'W': catalogue.framework(tree, "strategy.framework", faults); break;
    case 'C': config::read_calibration(tree, "input", faults); break;
    default: use(config::read_job(tree, catalogue));
  }
  if (!faults.empty()) throw base::InputError(faults);
}

/// Reads one input. Returns normally when it was sound or its faults were told well; ends the process otherwise.
inline void try_input(std::string_view input) {
  static const config::testing::SmallCatalogue small;
  static const config::Catalogue catalogue = small.catalogue();
  if (input.empty()) return;
  const std::clock_t start = std::clock();
  try {
    read_as(input.front(), input.substr(1), catalogue);
  } catch (const base::InputError& error) {
    require(!error.faults.empty(), "an input error without a fault");
    check_faults(error.faults);
  }
  const double seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
  require(seconds < kSlowest, "took " + std::to_string(seconds) + " s");
}

}  // namespace fuzz
