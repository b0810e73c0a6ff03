// SPDX-License-Identifier: Apache-2.0
#include "core/spec/stated.h"

#include <cassert>

#include "core/spec/job.h"

namespace spec {

Stated stated_parts(const Job& job) {
  return {job.strategy, job.training, job.framework, job.model.vocab, job.cluster.node.nvlink.domain, job.assumptions};
}

void restore(const Stated& stated, Job& job) {
  job.strategy = stated.strategy;
  job.training = stated.training;
  job.framework = stated.framework;
  job.model.vocab = stated.vocab;
  job.cluster.node.nvlink.domain = stated.nvlink_domain;
  job.assumptions = stated.assumptions;
  job.stated.reset();
}

std::int64_t token_ids(const Job& job) { return job.stated ? job.stated->vocab : job.model.vocab; }

Job unresolved(const Job& job) {
  assert(job.stated);
  Job out = job;
  restore(*job.stated, out);
  return out;
}

}  // namespace spec
