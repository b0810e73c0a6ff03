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

/// Blocks of moments begin anew with what other ranks hold as well, so that all round it alike.
void adamw8bit(Task& task, Parameter& p, const Tensor& gradient, const Tensor& master, const Tensor& weight) {
  const NarrowMoments m{task.write(p.m, p.name), task.write(p.m_scales, p.name)};
  const NarrowMoments v{task.write(p.v, p.name), task.write(p.v_scales, p.name)};
  const Range copies = p.owned_copies();
  std::int64_t scales = 0;
  for (const Range& range : {Range{0, copies.begin}, copies}) {
    if (range.length == 0) continue;
    const std::int64_t blocks = kernels::moment_blocks(range.length);
    const auto part = [&](const NarrowMoments& of) {
      return NarrowMoments{of.codes.part(range.begin, range.length), of.scales.part(scales, blocks)};
    };
    task.backend.adamw8bit(adamw_of_step(task), gradient.part(range.begin, range.length),
                           master.part(range.begin, range.length), part(m), part(v),
                           weight ? weight.part(range.begin, range.length) : Tensor{});
    scales += blocks;
  }
}

}  // namespace

void update_parameter(Task& task, Parameter& p, const Tensor& weight) {
  const Tensor gradient = task.read(p.final_gradient(), p.name), master = task.write(p.master, p.name);
  switch (task.rank.job.training.optimizer) {
    case spec::Optimizer::adamw:
      return task.backend.adamw(adamw_of_step(task), gradient, master, task.write(p.m, p.name), task.write(p.v, p.name),
                                weight);
    case spec::Optimizer::adamw8bit: return adamw8bit(task, p, gradient, master, weight);
    case spec::Optimizer::sgd:
      return task.backend.sgd(task.rank.settings.sgd, gradient, master, task.write(p.m, p.name), weight);
    case spec::Optimizer::muon: throw std::logic_error("Muon is refused before anything runs");
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
    case spec::Optimizer::muon: throw std::logic_error("Muon is refused before anything runs");
  }
}

}  // namespace real
