// cli/measure.cpp -- forerun measure [--gpus N]: checks this machine's GPUs for real runs, by a worker process for
// each. SPDX-License-Identifier: Apache-2.0
#include <charconv>
#include <cstdlib>
#include <filesystem>

#include "cli/command.h"
#include "cli/exit_code.h"
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

int run(const Arguments& arguments) {
  const int gpus = gpus_of(arguments);
  const auto failures = real::spawn(gpus, {worker(), "--smoke"});
  return failures.empty() ? kAnswered : verdict(failures.front());
}

}  // namespace

const Command measure{
    .name = "measure",
    .summary = "check this machine's GPUs for real runs: memory, recording, NCCL",
    .operands = {},
    .options = {{"--gpus", "N", "how many ranks to start, one a GPU; 1 when not given"}},
    .notes =
        "Exit code 3 where there is no GPU, no driver, or this build has no GPU part. More ranks than GPUs share "
        "cards:\n"
        "that shows that all works together, and its times mean nothing.\n",
    .run = run,
};

}  // namespace cli
