// cli/measure.cpp -- forerun measure [JOB] [--gpus N] ...: trains JOB on this machine's GPUs for a few steps, by a worker
// process for each; without JOB it checks that they can. SPDX-License-Identifier: Apache-2.0
#include <charconv>
#include <cstdlib>
#include <filesystem>

#include "cli/command.h"
#include "cli/exit_code.h"
#include "cli/measure_job.h"
#include "core/base/fault.h"
#include "real/launch/spawn.h"
#include "real/launch/worker_exit.h"

namespace cli {
namespace {

constexpr int kMostRanks = 1024;  // of one machine

/// 0: not given.
int gpus_of(const Arguments& arguments) {
  if (!arguments.has("--gpus")) return 0;
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

int check_gpus(const Arguments& arguments, int gpus) {
  for (const char* option : {"--steps", "--warmup", "--json", "--trace", "--set"}) {
    if (arguments.has(option)) throw base::InputError({{option, "belongs to a JOB", "name one", {}}});
  }
  const auto failures = real::spawn(gpus == 0 ? 1 : gpus, {worker(), "--smoke"});
  return failures.empty() ? kAnswered : verdict(failures.front());
}

int run(const Arguments& arguments) {
  const int gpus = gpus_of(arguments);
  if (arguments.operands().empty()) return check_gpus(arguments, gpus);
  const MeasuredJob measured = measured_job(arguments, gpus);
  std::vector<std::string> words{worker()};
  words.insert(words.end(), measured.words.begin(), measured.words.end());
  const auto failures = real::spawn(measured.gpus, words);
  if (!failures.empty()) return verdict(failures.front());
  write_timeline(measured, arguments);
  return kAnswered;
}

}  // namespace

const Command measure{
    .name = "measure",
    .summary = "train a job on this machine's GPUs for a few steps, or check that they can",
    .operands = {{"JOB", "a Job file, or a name of `forerun list jobs`; left out: memory, recording and NCCL are checked"}},
    .options = {{"--gpus", "N", "how many ranks to start, one a GPU; as many as JOB is cut for when not given"},
                {"--steps", "N", "steps to time; 10 when not given"},
                {"--warmup", "N", "steps before those; 3 when not given"},
                {"--json", "FILE", "write the result (docs/real-mode.md); - prints only it"},
                {"--trace", "FILE", "record one more step: prediction and GPUs in one timeline for ui.perfetto.dev"},
                {"--set", "PATH=VALUE", "any field of the Job: strategy.tp=2", true}},
    .notes =
        "Prints step time, tokens/s, MFU, loss by step, memory beside the Plan's, clocks. Other launchers start the\n"
        "workers themselves: torchrun --nproc-per-node 8 --no-python forerun-worker run JOB\n"
        "What real mode does not compute is refused by name, with exit code 2, before a GPU is looked for.\n"
        "Exit code 3 where there is no GPU, no driver, or this build has no GPU part. More ranks than GPUs share "
        "cards:\n"
        "that shows that all works together, and its times mean nothing.\n",
    .run = run,
};

}  // namespace cli
