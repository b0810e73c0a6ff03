// bench/process_bench.cpp -- the whole process `forerun predict job.yaml`, from spawn to exit: reading, predicting,
// writing. SPDX-License-Identifier: Apache-2.0
#include <benchmark/benchmark.h>
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>

#include <array>
#include <chrono>
#include <string>

extern char** environ;

namespace {

/// Runs the binary with its output thrown away; the exit code, or -1 when it could not be started.
int run(std::string job) {
  std::string binary = FORERUN_BINARY, predict = "predict", json = "--json", to_stdout = "-";
  std::array<char*, 6> words{binary.data(), predict.data(), job.data(), json.data(), to_stdout.data(), nullptr};
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
  pid_t child = 0;
  const int failed = posix_spawn(&child, binary.c_str(), &actions, nullptr, words.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (failed != 0) return -1;
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

void ProcessPredictDefaultJob(benchmark::State& state) {
  constexpr double kTargetMs = 50;
  double seconds = 0;
  for (auto _ : state) {
    const auto begin = std::chrono::steady_clock::now();
    const int code = run(FORERUN_SOURCE_DIR "/workloads/jobs/llama3-70b-64xh100.yaml");
    seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    if (code != 0 && code != 1) {
      state.SkipWithError("forerun did not answer");
      return;
    }
  }
  const double ms = 1e3 * seconds / static_cast<double>(state.iterations());
  state.counters["target_ms"] = kTargetMs;
  state.counters["of_target"] = ms / kTargetMs;
}
BENCHMARK(ProcessPredictDefaultJob)->Unit(benchmark::kMillisecond)->UseRealTime();

}  // namespace
