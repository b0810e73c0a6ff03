// SPDX-License-Identifier: Apache-2.0
#include "cli/worker.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "cli/exit_code.h"
#include "core/base/fault.h"
#include "real/launch/worker_exit.h"

namespace cli {
namespace {

std::string worker_path() {
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

}  // namespace

std::vector<real::Ended> run_workers(int ranks, std::vector<std::string> words) {
  const std::string worker = worker_path();
  if (ranks > 1) {
    if (auto failures = real::spawn(1, {worker, "--room", std::to_string(ranks)}); !failures.empty()) return failures;
  }
  words.insert(words.begin(), worker);
  return real::spawn(ranks, words);
}

int verdict_on(const std::vector<real::Ended>& failures) {
  if (failures.empty()) return kAnswered;
  // Of those that ended at once the one that knows why, before those that only saw another end.
  const auto knows = [](const real::Ended& one) {
    const int status = one.exit_status;
    return status == real::kWorkerInputWrong || status == real::kWorkerNoGpu || status == real::kWorkerNotLoadable;
  };
  const auto found = std::ranges::find_if(failures, knows);
  const real::Ended& first = found == failures.end() ? failures.front() : *found;
  switch (first.exit_status) {
    case real::kWorkerInputWrong: return kInputIsWrong;
    case real::kWorkerNoGpu: return kDeviceFailed;  // the worker has said why
    case real::kWorkerNotLoadable:
      throw base::DeviceError(
          "the GPU part cannot start: a library of NVIDIA's that it was built with is missing here (named above)");
    default: throw base::DeviceError(real::to_string(first));
  }
}

}  // namespace cli
