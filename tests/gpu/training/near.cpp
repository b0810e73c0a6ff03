// SPDX-License-Identifier: Apache-2.0
#include "tests/gpu/training/near.h"

#include <iostream>
#include <numeric>
#include <optional>

#include "core/base/fault.h"
#include "real/measure/supported.h"

namespace gpus {
namespace {

double length(const std::vector<double>& x) {
  double sum = 0;
  for (const double value : x) sum += value * value;
  return std::sqrt(sum);
}

std::vector<double> minus(std::vector<double> x, const std::vector<double>& y) {
  for (std::size_t i = 0; i < x.size(); ++i) x[i] -= y[i];
  return x;
}

/// All gradients, one behind the other.
std::vector<double> joined(const tiny::Run& run) {
  std::vector<double> out;
  for (const auto& [key, gradient] : run.gradients) out.insert(out.end(), gradient.begin(), gradient.end());
  return out;
}

spec::Model of_size(spec::Model m) {
  m.hidden = 64;
  m.head_dim = 16;
  m.ffn = 96;
  m.vocab = 64;
  if (m.moe) m.moe->ffn = m.moe->shared_ffn = 32;
  return m;
}

void expect_close(const tiny::Run& cpu, const tiny::Run& gpu, const Close& close) {
  EXPECT_NEAR(gpu.losses[0] / cpu.losses[0], 1, close.loss);
  if (!std::isnan(cpu.norms[0])) {
    EXPECT_NEAR(gpu.norms[0] / cpu.norms[0], 1, close.norm);
  }
  EXPECT_LE(gpu.copies_apart, emulated() ? 0 : 1e-3 * length(joined(cpu)));  // added up in another order
  EXPECT_TRUE(gpu.gradients.empty() || gpu.gradients.size() == cpu.gradients.size());
  for (const auto& [key, gradient] : gpu.gradients) {
    const std::vector<double>& expected = cpu.gradients.at(key);
    EXPECT_LT(length(minus(gradient, expected)) / std::max(length(expected), 1e-30), close.gradient)
        << key.second << " of layer " << key.first;
  }
}

bool has_gpus(const plan::Plan& plan, const std::string& name) {
  const int wanted = plan.axes.ranks * plan.axes.stages;
  if (wanted <= count()) return true;
  std::cout << name << ": left out, wants " << wanted << " GPUs\n";
  return false;
}

struct Pair {
  tiny::Run cpu, gpu;
};

/// Nothing where the GPUs are too few, or failed.
std::optional<Pair> trained(const spec::Job& job, const std::string& name, const Check& check, unsigned seed) {
  const plan::Plan plan = plan::build(job);
  if (!has_gpus(plan, name)) return std::nullopt;
  for (const base::Fault& fault : real::unsupported_on_gpu(job, plan, plan.axes.ranks * plan.axes.stages)) {
    ADD_FAILURE() << fault.field << ": " << fault.what;
  }
  try {
    const Trained one = train(job, {.seed = seed, .keeps_gradients = check.gradients});
    EXPECT_THAT(one.wrongly_told, testing::IsEmpty());
    if (check.twice && emulated()) {
      const Trained other = train(job, {.seed = seed + 1, .keeps_gradients = false});
      EXPECT_EQ(one.run.losses, other.run.losses);
      EXPECT_TRUE(one.masters == other.masters);
      EXPECT_EQ(one.masters.empty(), job.strategy.offload.updates_on_host());
    }
    Pair out{tiny::run(job, 1), one.run};
    expect_close(out.cpu, out.gpu, check.close);
    return out;
  } catch (const base::DeviceError& error) {  // the cases behind it are of interest all the more
    ADD_FAILURE() << error.what();
    return std::nullopt;
  }
}

}  // namespace

spec::Job widened(spec::Job job) {
  job.model = of_size(job.model);
  job.training.sequence = 16;
  job.cluster.node.pcie.bandwidth = base::GBps(10);
  job.cluster.node.host = {.memory = base::GB(100), .bandwidth = base::GBps(100)};
  job.cluster.node.nvme.read = job.cluster.node.nvme.write = base::GBps(5);
  job.cluster.node.gpu.generation = spec::Generation::hopper;
  for (const spec::Dtype narrow : {spec::Dtype::fp8, spec::Dtype::mxfp8}) {
    job.cluster.node.gpu.peak[static_cast<int>(narrow)] = base::TFLOPps(2000);
  }
  return job;
}

spec::Job job_of(const spec::Model& model, const Case& c) {
  spec::Job job = widened(tiny::draft(model, c.cut, 2 * c.cut.dp));
  c.change(job);
  return toy::resolved(job);
}

void expect_near(const spec::Job& job, const std::string& name, const Check& check, unsigned seed) {
  trained(job, name, check, seed);
}

void expect_near(const spec::Model& model, const std::vector<Case>& cases, const Check& check) {
  unsigned seed = 0;
  for (const Case& c : cases) {
    SCOPED_TRACE(model.name + ", " + c.name);
    trained(job_of(model, c), c.name, check, seed);
    seed += 2;
  }
}

void expect_near_and_rounded_alike(const spec::Model& model, const std::vector<Case>& cases) {
  unsigned seed = 0;
  for (const Case& c : cases) {
    SCOPED_TRACE(model.name + ", " + c.name);
    const auto runs = trained(job_of(model, c), c.name, {kFp8}, seed);
    seed += 2;
    if (!runs) continue;
    spec::Job wide = job_of(model, c);
    wide.training.precision = spec::Dtype::bf16;
    const std::vector<double> exact = joined(tiny::run(wide, 1));
    const std::vector<double> of_cpu = minus(joined(runs->cpu), exact), of_gpu = minus(joined(runs->gpu), exact);
    const double agree = std::inner_product(of_cpu.begin(), of_cpu.end(), of_gpu.begin(), 0.0);
    EXPECT_GT(agree / (length(of_cpu) * length(of_gpu)), 0.4);
  }
}

Change offload(const spec::Offload& offload, std::int64_t tile) {
  return [=](spec::Job& j) {
    j.framework.optimizer_tile = base::Bytes(static_cast<double>(tile));
    j.strategy.offload = offload;
    j.strategy.offload_given = true;
  };
}

Change fp8(spec::Fp8Recipe recipe) {
  return [=](spec::Job& j) {
    j.training.precision = spec::Dtype::fp8;
    j.training.fp8_recipe = recipe;
  };
}

Change packed(std::vector<std::int64_t> lengths) {
  return [=](spec::Job& j) { j.training.packing = {.lengths = lengths}; };
}

}  // namespace gpus
