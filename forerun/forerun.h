// forerun/forerun.h -- forerun as a library: a Job in, an answer and its Trace out.
//
//   #include <forerun/forerun.h>
//   const forerun::Forerun here;                                              // the catalogue that was installed
//   const forerun::Job job = here.job("llama3-70b-64xh100", {{"strategy.recompute", "full"}});
//   const forerun::Answer answer = forerun::predict(job);
//   std::cout << answer.prediction.step_time_s << " s, fits: " << answer.prediction.fits << '\n';
//
// Link forerun::forerun of find_package(forerun). Everything throws forerun::InputError (a std::exception whose what()
// has every fault with its place and how to mend it) for input that is wrong. Functions may be called from several
// threads at once. SPDX-License-Identifier: Apache-2.0
#pragma once

#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/fault.h"
#include "core/result/prediction.h"
#include "core/result/search.h"
#include "core/spec/job.h"
#include "core/trace/trace.h"

namespace forerun {

using base::InputError;
using result::Prediction;  // seconds, bytes, their units in the names (docs/output.md)
using result::Search;
using spec::Job;  // read, checked and resolved
using trace::Trace;

/// Any field of a Job as --set has it: {"strategy.tp", "8"}; the value is YAML.
struct Setting {
  std::string path, value;
};
using Settings = std::vector<Setting>;

struct SearchLimits {
  int top = 10;          // strategies in the answer
  unsigned threads = 0;  // 0: all cores
};

/// The catalogue of models, nodes, fabrics and calibrations, and what is read with it.
class Forerun {
 public:
  /// $FORERUN_DATA; else what was installed with the library; else the source tree that it was built in.
  Forerun();
  /// A folder that holds topologies/ and workloads/.
  explicit Forerun(std::string data_folder);

  const std::string& data_folder() const { return data_folder_; }

  /// A Job file, or a name of workloads/jobs; settings are laid over it in the order given.
  Job job(const std::string& file_or_name, const Settings& = {}) const;
  /// A Job written as YAML. `name` stands for it in messages.
  Job job_of(std::string_view yaml, const Settings& = {}, const std::string& name = "job") const;
  /// The best strategies by step time; keys of the strategy that the Job leaves out are searched.
  Search search(const std::string& file_or_name, const Settings& = {}, const SearchLimits& = {}) const;

 private:
  std::string data_folder_;
};

struct Answer {
  Prediction prediction;
  Trace trace;  // a span an operator, memory over time
};

/// One training (prefill, decode) step.
Answer predict(const Job&);
/// The same without a Trace worth looking at, in a quarter of the time.
Prediction predict_time(const Job&);

/// What `forerun predict --json` writes.
std::string json(const Prediction&);
/// What `forerun predict --trace` writes, for ui.perfetto.dev.
void write_perfetto(const Trace&, std::ostream&);

}  // namespace forerun
