// tests/real/executor/executor_test.cpp
// SPDX-License-Identifier: Apache-2.0
#include "tests/real/executor/tiny.h"

namespace {

TEST(Executor, Dev) {
  const auto r = tiny::run(toy::resolved(tiny::draft(tiny::llama(), {})), 20);
  for (double l : r.losses) printf("%f ", l);
  const auto g = tiny::run(toy::resolved(tiny::draft(tiny::gpt(), {})), 20);
  for (double l : g.losses) printf("%f ", l);
}

}  // namespace
