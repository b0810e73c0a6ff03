// real/executor/actions/update.cpp -- what the job's optimizer makes of one parameter, on the device and on the host.
// SPDX-License-Identifier: Apache-2.0
#include <stdexcept>

#include "real/executor/actions/step.h"

namespace real {
namespace {

static_assert(kernels::kMomentBlock == plan::kMomentBlock, "the Plan counts a scale for each block");

kernels::AdamW adamw_of_step(const Task& task) {
  kernels::AdamW adamw = task.rank.settings.optimizer;
  adamw.step = task.rank.step + 1;
  return adamw;
}

NarrowMoments narrow_moments(Task& task, const Parameter& p, Value& codes, Value& scales) {
  return {task.write(codes, p.name), task.write(scales, p.name)};
}

}  // namespace

void update_parameter(Task& task, Parameter& p) {
  const Tensor gradient = task.read(p.final_gradient(), p.name), master = task.write(p.master, p.name);
  switch (task.rank.job.training.optimizer) {
    case spec::Optimizer::adamw:
      return task.backend.adamw(adamw_of_step(task), gradient, master, task.write(p.m, p.name),
                                task.write(p.v, p.name));
    case spec::Optimizer::adamw8bit:
      return task.backend.adamw8bit(adamw_of_step(task), gradient, master, narrow_moments(task, p, p.m, p.m_scales),
                                    narrow_moments(task, p, p.v, p.v_scales));
    case spec::Optimizer::sgd:
      return task.backend.sgd(task.rank.settings.sgd, gradient, master, task.write(p.m, p.name));
  }
}

void update_parameter_on_host(Task& task, Parameter& p) {
  const Tensor gradient = task.read(p.host_gradient, p.name), master = task.write(p.master, p.name);
  switch (task.rank.job.training.optimizer) {
    case spec::Optimizer::adamw:
      return task.backend.host_adamw(adamw_of_step(task), gradient, master, task.write(p.m, p.name),
                                     task.write(p.v, p.name));
    case spec::Optimizer::adamw8bit: throw std::logic_error("8-bit states are updated on the device alone");
    case spec::Optimizer::sgd:
      return task.backend.host_sgd(task.rank.settings.sgd, gradient, master, task.write(p.m, p.name));
  }
}

}  // namespace real
