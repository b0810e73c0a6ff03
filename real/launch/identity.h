// real/launch/identity.h -- which rank this process is, read from what its launcher left in the environment.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <optional>
#include <string>

namespace real {

struct Identity {
  int rank = 0, world = 1;
  int local_rank = 0, local_world = 1;   // among the ranks of this machine
  std::string launcher = "single";       // torchrun (forerun's own spawner too) openmpi hydra slurm single
  std::string host = {};                 // this machine's name
  std::string job = {};                  // equal for the ranks of one launch; empty where the launcher names none
  std::string store_host = "127.0.0.1";  // the machine of rank 0
  int store_port = 29517;
};

/// The value of a variable; nothing when it is not set or empty.
using Environment = std::function<std::optional<std::string>(const std::string& name)>;
Environment process_environment();

/// Asks in this order, and takes the first launcher that set its variables: RANK and WORLD_SIZE (torchrun, forerun's
/// own spawner), OMPI_COMM_WORLD_*, PMI_RANK with MPI_LOCALRANKID (Hydra: MPICH, Intel MPI), Slurm; else a single
/// process. Open MPI comes before Slurm because mpirun inside a batch job shows SLURM_PROCID=0 to every rank. Slurm
/// counts only inside a step (SLURM_STEP_ID): the batch script itself has a SLURM_PROCID too, and would wait for ranks
/// that nobody starts. Throws base::InputError that names the variable when one is missing, no number, or out of range.
Identity identify(const Environment&);

/// The first machine of a Slurm node list: "gpu[07-09,12],x1" is gpu07.
std::string first_host(const std::string& node_list);
/// How many tasks run on node `node` of "2(x3),1": 2, 2, 2, 1. Nothing when the list is shorter or no such list.
std::optional<int> tasks_on_node(const std::string& tasks_per_node, int node);

}  // namespace real
