// SPDX-License-Identifier: Apache-2.0
#include "real/executor/sinks.h"

namespace real {

void join_sinks(Task& task, const kernels::Attention& a, std::int64_t first_head, const Attended& attended) {
  if (!task.c.model.attention_sinks) return;
  task.backend.attention_sinks_forward(a, task.weight(kSinks).part(first_head, a.heads), attended.out, attended.lse);
}

void add_sinks_gradient(Task& task, const kernels::Attention& a, std::int64_t first_head, const Attended& all,
                        const Tensor& dout) {
  if (!task.c.model.attention_sinks) return;
  task.backend.attention_sinks_backward(a, task.weight(kSinks).part(first_head, a.heads), all.out, all.lse, dout,
                                        task.gradient(kSinks).part(first_head, a.heads));
}

kernels::Attention attended_shape(const Task& task, std::int64_t queries, const Attended& attended) {
  kernels::Attention a = attention_shape(task, queries, 0);
  a.heads = attended.lse.count / (a.batch * queries);
  return a;
}

}  // namespace real
