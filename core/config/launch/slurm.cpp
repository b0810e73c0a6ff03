// SPDX-License-Identifier: Apache-2.0
#include "core/config/launch/slurm.h"

namespace config::launch {
File batch_script(const Export& e, const Framework& framework, const std::string& file) {
  const std::string nodes = std::to_string(e.job.cluster.nodes), gpus = std::to_string(e.job.cluster.node.gpus);
  // Quotes inside of bash -c are the node's: SLURM_NODEID differs there.
  return {"job.sbatch",
          "#!/usr/bin/env bash\n" + heading(e, "# ") + "# sbatch job.sbatch [arguments of the program];\n# " + file +
              " lies beside it.\n"
              "#SBATCH --job-name=" +
              e.job.model.name + "\n#SBATCH --nodes=" + nodes +
              "\n#SBATCH --ntasks-per-node=1  # one launcher, for all of its GPUs\n"
              "#SBATCH --gpus-per-node=" +
              gpus +
              "\n#SBATCH --exclusive\n#SBATCH --time=01:00:00\nset -euo pipefail\n"
              "HEAD_NODE=$(scontrol show hostnames \"$SLURM_JOB_NODELIST\" |\n  head -n 1)\nexport HEAD_NODE\n" +
              folded("srun bash -c '" + framework.command(e.job, file) + "' _ \"$@\"") + '\n'};
}

}  // namespace config::launch
