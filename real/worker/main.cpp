// real/worker/main.cpp -- forerun-worker COMMAND [ARGS]: one rank of a run on GPUs. `forerun measure` starts it; so do
// torchrun, mpirun and srun. It links NVIDIA's libraries, which forerun itself does not.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <array>
#include <cstdlib>
#include <iostream>
#include <memory>

#include "core/base/fault.h"
#include "real/cuda/device.h"
#include "real/cuda/environment.h"
#include "real/launch/worker_exit.h"
#include "real/worker/command.h"

namespace worker {
namespace {

// A new command is a file of its own and a name here.
const std::array kCommands{&versions, &ping, &room, &smoke, &run_job, &calibrate};

std::string help() {
  std::string out =
      "forerun-worker is one rank of a run on GPUs; `forerun measure` and `forerun calibrate` start it.\n\nusage: "
      "forerun-worker COMMAND\n\n";
  for (const Command* command : kCommands) out += fmt::format("  {:<12}{}\n", command->name, command->summary);
  return out;
}

const Command& command_named(const std::string& name) {
  for (const Command* command : kCommands) {
    if (command->name == name) return *command;
  }
  throw base::InputError({{name, "there is no such command", "`forerun-worker --help` shows all", {}}});
}

int run(const std::vector<std::string>& words) {
  if (words.empty() || words[0] == "--help") {
    std::cout << help();
    return words.empty() ? real::kWorkerInputWrong : 0;
  }
  const Command& command = command_named(words[0]);
  const real::Environment environment = real::process_environment();
  real::World world = real::join(real::identify(environment), real::patience_from(environment));
  try {
    const std::string told = command.run(world, {words.begin() + 1, words.end()});
    world.store->leave(world.patience.finish);
    if (world.identity.rank == 0) std::cout << told << std::flush;
    return 0;
  } catch (const std::exception& error) {
    world.store->abort(error.what());
    throw;
  }
}

}  // namespace
}  // namespace worker

int main(int argc, char** argv) {
  real::choose_environment();
  try {
    return worker::run({argv + 1, argv + argc});
  } catch (const base::InputError& error) {
    std::cerr << error.what() << '\n';
    return real::kWorkerInputWrong;
  } catch (const real::NoGpu& error) {
    // Once a machine: the others there would say the same, and where they would not, the store has told rank 0.
    if (real::identify(real::process_environment()).local_rank == 0) std::cerr << error.what() << '\n';
    return std::getenv(real::kSkipVariable) != nullptr ? real::kWorkerNoGpu : real::kWorkerDeviceFailed;
  } catch (const std::exception& error) {
    std::cerr << "error: " << error.what() << '\n';
    return real::kWorkerDeviceFailed;
  }
}
