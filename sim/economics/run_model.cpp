// SPDX-License-Identifier: Apache-2.0
#include "sim/economics/run_model.h"

#include <algorithm>
#include <cmath>

#include "core/base/text.h"
#include "core/plan/context.h"
#include "core/plan/shares.h"
#include "core/plan/storage.h"
#include "core/spec/parameters.h"

namespace sim {

base::Bytes checkpoint_bytes(const spec::Job& job) {
  const plan::Context context(job);
  if (job.model.is_list()) {
    const auto parameters = static_cast<double>(spec::parameters(job.model).total());
    return base::Bytes(parameters * static_cast<double>(context.element + plan::optimizer_bytes(context)));
  }
  double bytes = 0;
  for (const std::vector<plan::Chunk>& stage : plan::chunks_of(context)) {
    bytes += static_cast<double>(plan::checkpoint_bytes(context, stage)) * context.axes.ranks;
  }
  return base::Bytes(job.strategy.traits().two_copies() ? bytes / 2 : bytes);
}

RunModel run_model(const spec::Purchase& purchase, const spec::Job& job, const result::Prediction& step) {
  const spec::Failures& f = purchase.failures;
  const spec::Cluster& cluster = job.cluster;
  const double gpus = cluster.gpus(), nodes = cluster.nodes;
  RunModel out;
  out.failures = base::Hertz(gpus / f.gpu_mtbf.value.si() + nodes / f.node_mtbf.value.si());
  out.hardware = f.hardware.value;
  out.repair = f.repair.value;
  const base::Bytes bytes = checkpoint_bytes(job);
  const base::Seconds written = bytes / (purchase.checkpoint.bandwidth.value * nodes);
  out.restart = f.detect.value + f.restart.value + written;  // what was written is read
  if (purchase.checkpoint.async) {
    out.write = bytes / (cluster.node.pcie.copies() * gpus);
    out.written_beside = written;
  } else {
    out.write = written;
  }
  if (f.stragglers) {
    out.stragglers = f.stragglers;
    out.stragglers->mtbf = f.stragglers->mtbf / gpus;
  }
  const base::Seconds wanted = purchase.checkpoint.interval.value_or(best_interval(out.write, out.failures));
  const double least = std::ceil(out.written_beside.si() / step.step_time_s);
  out.interval = base::s(step.step_time_s * std::max({1.0, least, std::round(wanted.si() / step.step_time_s)}));
  return out;
}

RunModel with_steps(RunModel model, double factor) {
  model.interval = model.interval * factor;
  return model;
}

bool hopeless(const RunModel& m, base::Seconds work) {
  const base::Seconds wait = m.spares > 0 ? base::Seconds() : m.repair * m.hardware;
  const Rhythm worst{m.failures, m.interval, m.write + m.written_beside, m.restart + wait};
  const base::Seconds segment = std::min(m.interval, work);  // a run may end before anything is saved
  return !(expected_segment(worst, segment) / segment < 100);
}

std::string words_of_hopeless(const RunModel& m, base::Seconds work) {
  const base::Seconds saving = m.write + m.written_beside, segment = std::min(m.interval, work);
  if (saving / segment < 50)  // failures do at least as much
    return "fails every " + base::human(base::Seconds(1 / m.failures.si())) + ", before anything is saved";
  return "saves for " + base::human(saving) + " what took " + base::human(segment) + ": " +
         (m.interval < work ? "a longer checkpoint.interval or " : "") + "more bandwidth is needed";
}

}  // namespace sim
