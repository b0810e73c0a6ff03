// tests/gpu/training/indices_test.cpp -- indices that the host makes reach the GPU, and how long their memory is taken.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <functional>
#include <vector>

#include "real/cuda/device.h"
#include "real/gpu/gpu_backend.h"
#include "tests/gpu/training/near.h"

namespace {

using Indices = std::vector<std::int32_t>;

void on_one_rank(const std::function<void(real::GpuBackend&)>& body) {
  const gpus::Turns turns(0, 1);
  const std::vector<real::World> worlds = real::in_process(1);
  const real::CurrentDevice current(0);
  const real::Communicator everyone(worlds.front());
  real::GpuBackend backend(worlds.front(), 0, everyone, {});
  body(backend);
}

std::int64_t taken(real::GpuBackend& backend) {
  return backend.pool().ledger().now()[static_cast<std::size_t>(plan::Category::activations)];
}

// The other kind is kept for whoever asks again, until nobody has for a whole step.
TEST(Indices, ThatPassTakeMemoryForAsLongAsTheirTensorLives) {
  on_one_rank([](real::GpuBackend& backend) {
    const Indices values{3, 1, 2}, others{5, 4};
    backend.begin(plan::Stream::compute, {});
    EXPECT_EQ(backend.download_indices(backend.upload_passing_indices(values)), values);
    EXPECT_EQ(taken(backend), 0);
    EXPECT_EQ(backend.download_indices(backend.upload_indices(others)), others);
    EXPECT_EQ(taken(backend), 8);
    backend.synchronize();
    EXPECT_EQ(taken(backend), 0);
  });
}

// Rows of a table by indices that the graph sends anew in each of its runs, to memory that others have had meanwhile.
TEST(Indices, ThatPassInACapturedStepAreSentByEachRunOfIt) {
  on_one_rank([](real::GpuBackend& backend) {
    const std::vector<double> rows{10, 20, 30};
    const real::Tensor table = backend.allocate(3), y = backend.allocate(4);
    backend.copy(backend.upload(rows), table);
    const auto pick = [&](const Indices& ids, std::int64_t to) {
      backend.embedding_forward({2, 1, 3}, backend.upload_passing_indices(ids), table, y.part(to, 2));
    };
    const auto step = [&] {
      backend.begin(plan::Stream::compute, {});
      pick({2, 0}, 0);
      pick({1, 2}, 2);
      backend.synchronize();
    };
    step();
    backend.capture_next_step();
    step();
    for (int run = 0; run < 2; ++run) {
      EXPECT_EQ(backend.download(y), (std::vector<double>{30, 10, 20, 30}));
      backend.fill(y, 0);
      backend.run_captured();
    }
    EXPECT_EQ(backend.download(y), (std::vector<double>{30, 10, 20, 30}));
  });
}

// Rows sorted by expert go by indices of their own in each layer, four times: nothing stays of them.
TEST(Indices, OfSortedRowsAreNotKept) {
  if (gpus::count() < 2) GTEST_SKIP() << "needs 2 GPUs";
  const auto left = [](int layers) {
    const spec::Job job =
        gpus::job_of(tiny::moe(layers), {"", {.dp = 2}, tiny::both(tiny::experts(2), gpus::one_each)});
    return gpus::train(job, {.keeps_gradients = false}).activations_left;
  };
  EXPECT_GT(left(2), 0);  // ids of tokens, their places
  EXPECT_EQ(left(4), left(2));
}

}  // namespace
