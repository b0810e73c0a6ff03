// real/executor/executor.h -- runs a Plan with real arithmetic, one rank: walks the calls of its role, gives each
// operator to its action, checks that the Plan's events order what operators touch. What the Plan leaves out is not
// done: a missing collective or a wrong order shows in the numbers.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/base/fault.h"
#include "real/executor/actions.h"
#include "real/executor/rank_state.h"

namespace real {

/// What this version of real mode does not compute, each by name. Empty: the job can be run.
std::vector<base::Fault> unsupported(const spec::Job&, const plan::Plan&);

/// Numbers of this rank after a step. A loss is the sum over the rank's own tokens over the tokens of the step, so that
/// the ranks of the last stage add up to the mean; 0 where another tensor-parallel rank tells it.
struct StepResult {
  double loss = 0;
  double gradient_norm = 0;  // of all gradients, before they are clipped; not a number where no stage learns it
};

class Executor {
 public:
  /// All must outlive it. Throws base::InputError where unsupported() says something.
  Executor(const spec::Job&, const plan::Plan&, int rank, Backend&, const Tokens&, const Settings&);

  /// Throws base::DeviceError with rank and operator when another rank does not answer, RaceError, and std::logic_error
  /// where the Plan and the tensors do not fit together.
  StepResult step();

  const RankState& state() const { return rank_; }

 private:
  using Pass = std::pair<std::int16_t, std::int32_t>;  // chunk, microbatch

  void start_parameters();
  void begin_step();
  void run(int call);
  void run(int call, int at);
  void pass_on(const plan::Call&);

  // What is let go when (forgetting.cpp).
  void find_last_calls();
  void find_remade();
  void find_last_of_layers();
  void forget_all();
  bool is_last(int call, std::int16_t chunk, std::int32_t microbatch) const;
  void leave_layer(const Task&, int call, int at);
  void release_units(const plan::Call&, const plan::Segment&, int at);

  // Without a flush (no_flush.cpp).
  void fill_pipeline();
  void receive_first(int call);
  void leave_pass(const plan::Call&);

  RankState rank_;
  std::vector<Action> actions_;       // by name's index in the Plan
  std::map<Pass, int> last_call_of_;  // behind which nothing of a pass is read again
  std::map<std::int32_t, std::vector<bool>>
      last_of_layer_;  // operators of a segment: of their layer and phase, forward or not
};

}  // namespace real
