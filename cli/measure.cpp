// cli/measure.cpp -- forerun measure [--gpus N]: checks this machine's GPUs for real runs, by a worker process for
// each; forerun measure JOB --backend cpu: trains a small job without any. SPDX-License-Identifier: Apache-2.0
#include <charconv>
#include <cstdlib>
#include <filesystem>

#include "cli/command.h"
#include "cli/exit_code.h"
#include "cli/job_flags.h"
#include "cli/measure_on_cpu.h"
#include "core/base/fault.h"
#include "real/launch/spawn.h"
#include "real/launch/worker_exit.h"

namespace cli {
namespace {

constexpr int kMostRanks = 1024;  // of one machine

int gpus_of(const Arguments& arguments) {
  if (!arguments.has("--gpus")) return 1;
  const std::string text = arguments.get("--gpus");
  int gpus = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), gpus);
  if (error == std::errc() && end == text.data() + text.size() && gpus >= 1 && gpus <= kMostRanks) return gpus;
  throw base::InputError({{"--gpus", "'" + text + "' is no number of GPUs", "give a whole number, 1 or more", {}}});
}

/// The worker's path: $FORERUN_WORKER, or beside this program. It is a program of its own so that forerun starts where
/// NVIDIA's libraries are missing.
std::string worker() {
  namespace fs = std::filesystem;
  const char* const named = std::getenv("FORERUN_WORKER");
  std::error_code ignored;
  const fs::path path =
      named ? fs::path(named) : fs::read_symlink("/proc/self/exe", ignored).parent_path() / "forerun-worker";
  if (fs::exists(path, ignored)) return path;
  throw base::DeviceError("this build has no GPU part: there is no " + path.string() +
                          "\n  mend: install the CUDA Toolkit, NCCL, CUPTI and cuDNN and build again; -D "
                          "FORERUN_CUDA=ON says what is missing");
}

/// What the first rank that failed means for this command.
int verdict(const real::Ended& first) {
  switch (first.exit_status) {
    case real::kWorkerInputWrong: return kInputIsWrong;
    case real::kWorkerNoGpu: return kDeviceFailed;  // the worker has said why
    case real::kWorkerNotLoadable:
      throw base::DeviceError(
          "the GPU part cannot start: a library of NVIDIA's that it was built with is missing here (named above)");
    default: throw base::DeviceError(real::to_string(first));
  }
}

/// Which of the two, by --backend; what belongs to the other one is a fault.
bool on_cpu(const Arguments& arguments) {
  const std::string backend = arguments.has("--backend") ? arguments.get("--backend") : "gpu";
  if (backend != "cpu" && backend != "gpu") {
    throw base::InputError({{"--backend", "'" + backend + "' is no backend", "write cpu or gpu", {}}});
  }
  const bool cpu = backend == "cpu";
  if (cpu && arguments.has("--gpus")) {
    throw base::InputError({{"--gpus", "the CPU has none", "leave it out: the job says how many ranks there are", {}}});
  }
  if (!cpu && (!arguments.operands().empty() || arguments.has("--steps") || arguments.has("--tokens"))) {
    throw base::InputError(
        {{"--backend", "a job on GPUs is not supported by this version", "write --backend cpu", {}}});
  }
  return cpu;
}

int run(const Arguments& arguments) {
  if (on_cpu(arguments)) return measure_on_cpu(arguments);
  const int gpus = gpus_of(arguments);
  const auto failures = real::spawn(gpus, {worker(), "--smoke"});
  return failures.empty() ? kAnswered : verdict(failures.front());
}

}  // namespace

const Command measure{
    .name = "measure",
    .summary = "check this machine's GPUs for real runs: memory, recording, NCCL; train a small job on the CPU",
    .operands = {job_operand()},
    .options =
        with_job_flags({{"--backend", "NAME", "gpu (the check) or cpu (trains JOB in double); gpu when not given"},
                        {"--gpus", "N", "how many ranks to start, one a GPU; 1 when not given"},
                        {"--steps", "N", "cpu: steps to train; 10 when not given"},
                        {"--tokens", "FILE", "cpu: 16-bit token ids to learn from; made up when not given"},
                        {"--json", "FILE", "cpu: write losses and norms (docs/output.md); - prints only them"}}),
    .notes =
        "With --backend cpu a thread for each rank runs the job's Plan: real arithmetic, no measurement of a GPU.\n"
        "Exit code 3 where there is no GPU, no driver, or this build has no GPU part. More ranks than GPUs share "
        "cards:\n"
        "that shows that all works together, and its times mean nothing.\n",
    .run = run,
};

}  // namespace cli
