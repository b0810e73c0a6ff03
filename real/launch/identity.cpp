// SPDX-License-Identifier: Apache-2.0
#include "real/launch/identity.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "core/base/fault.h"
#include "core/base/number.h"

namespace real {
namespace {

[[noreturn]] void wrong(const std::string& variable, const std::string& what, const std::string& mend) {
  throw base::InputError({{variable, what, mend, {}}});
}

/// The variables of one launcher.
class Variables {
 public:
  Variables(const Environment& get, std::string launcher) : get_(get), launcher_(std::move(launcher)) {}

  std::string text(const std::string& name) const { return get_(name).value_or(""); }
  int required(const std::string& name) const {
    if (!get_(name)) {
      wrong(name, "is not set, though other variables of " + launcher_ + " are",
            "set all of them, or none for a single process");
    }
    return read(name);
  }
  int optional(const std::string& name, int otherwise) const { return get_(name) ? read(name) : otherwise; }

 private:
  int read(const std::string& name) const {
    const std::string value = text(name);
    const auto read = base::number_in<int>(value);
    if (!read)
      wrong(name, "'" + value + "' is no whole number",
            "the launcher (" + launcher_ + ") sets it; unset it to run alone");
    return *read;
  }
  const Environment& get_;
  std::string launcher_;
};

/// A port below those that systems hand out by themselves, the same on every rank of a job.
int port_for(const std::string& job) {
  std::uint32_t hash = 2166136261u;  // FNV-1a
  for (const char c : job) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619u;
  return 20000 + static_cast<int>(hash % 12000);
}

void from_torchrun(const Environment& get, Identity& out) {
  const Variables v(get, out.launcher = "torchrun");
  out.rank = v.required("RANK");
  out.world = v.required("WORLD_SIZE");
  const bool local = get("LOCAL_RANK") || get("LOCAL_WORLD_SIZE");
  out.local_rank = local ? v.required("LOCAL_RANK") : 0;
  out.local_world = local ? v.required("LOCAL_WORLD_SIZE") : 1;
  out.job = v.text("TORCHELASTIC_RUN_ID");
  if (!out.job.empty()) out.job += "." + v.text("TORCHELASTIC_RESTART_COUNT");
}

void from_open_mpi(const Environment& get, Identity& out) {
  const Variables v(get, out.launcher = "openmpi");
  out.rank = v.required("OMPI_COMM_WORLD_RANK");
  out.world = v.required("OMPI_COMM_WORLD_SIZE");
  out.local_rank = v.required("OMPI_COMM_WORLD_LOCAL_RANK");
  out.local_world = v.required("OMPI_COMM_WORLD_LOCAL_SIZE");
  out.job = v.text("PMIX_NAMESPACE");
}

void from_hydra(const Environment& get, Identity& out) {
  const Variables v(get, out.launcher = "hydra");
  out.rank = v.required("PMI_RANK");
  out.world = v.required("PMI_SIZE");
  out.local_rank = v.required("MPI_LOCALRANKID");
  out.local_world = v.required("MPI_LOCALNRANKS");
}

void from_slurm(const Environment& get, Identity& out) {
  const Variables v(get, out.launcher = "slurm");
  out.rank = v.required("SLURM_PROCID");
  out.world = v.required(get("SLURM_STEP_NUM_TASKS") ? "SLURM_STEP_NUM_TASKS" : "SLURM_NTASKS");
  out.local_rank = v.required("SLURM_LOCALID");
  const std::string tasks = v.text("SLURM_STEP_TASKS_PER_NODE");
  const auto here = tasks_on_node(tasks, v.optional("SLURM_NODEID", 0));
  if (!here)
    wrong("SLURM_STEP_TASKS_PER_NODE", "'" + tasks + "' does not tell how many tasks run here",
          "start the ranks with srun");
  out.local_world = *here;
  out.job = v.text("SLURM_JOB_ID") + "." + v.text("SLURM_STEP_ID");
  if (const std::string nodes = v.text("SLURM_STEP_NODELIST"); !nodes.empty()) out.store_host = first_host(nodes);
}

/// Where rank 0 serves the store.
void find_store(const Environment& get, Identity& out) {
  const Variables v(get, out.launcher);
  if (const auto host = get("MASTER_ADDR")) {
    out.store_host = *host;
  } else if (out.local_world == out.world) {
    out.store_host = "127.0.0.1";
  } else if (out.launcher != "slurm" || out.store_host.empty()) {
    wrong("MASTER_ADDR", "is not set, and the ranks run on several machines",
          "set it to the machine of rank 0 (mpirun: -x MASTER_ADDR=node1)");
  }
  const int port = v.optional("MASTER_PORT", out.job.empty() ? out.store_port : port_for(out.job));
  if (port < 1 || port > 65535)
    wrong("MASTER_PORT", fmt::format("{} is no port", port), "set it to a free port, 1 to 65535");
  // torchrun's agent itself listens on MASTER_PORT.
  out.store_port = get("TORCHELASTIC_USE_AGENT_STORE") ? port_for(fmt::format("{}:{}", out.job, port)) : port;
}

void check(const Identity& id) {
  const auto bad = [&](const std::string& what) {
    wrong("rank", what, "check what " + id.launcher + " set in the environment; unset it to run alone");
  };
  if (id.world < 1 || id.rank < 0 || id.rank >= id.world)
    bad(fmt::format("{} says rank {} of {}", id.launcher, id.rank, id.world));
  if (id.local_world < 1 || id.local_world > id.world || id.local_rank < 0 || id.local_rank >= id.local_world) {
    bad(fmt::format("{} says local rank {} of {} on this machine, {} in all", id.launcher, id.local_rank,
                    id.local_world, id.world));
  }
}

}  // namespace

Environment process_environment() {
  return [](const std::string& name) -> std::optional<std::string> {
    const char* const value = std::getenv(name.c_str());
    if (value == nullptr || *value == '\0') return std::nullopt;
    return value;
  };
}

Identity identify(const Environment& get) {
  Identity out;
  char host[256] = {};
  gethostname(host, sizeof host - 1);
  out.host = host;
  if (get("RANK") || get("WORLD_SIZE")) {
    from_torchrun(get, out);
  } else if (get("OMPI_COMM_WORLD_RANK")) {
    from_open_mpi(get, out);
  } else if (get("PMI_RANK") && get("MPI_LOCALRANKID")) {
    from_hydra(get, out);
  } else if (get("SLURM_PROCID") && get("SLURM_STEP_ID")) {
    from_slurm(get, out);
  } else {
    return out;
  }
  check(out);
  find_store(get, out);
  return out;
}

std::string first_host(const std::string& node_list) {
  const std::size_t open = node_list.find_first_of("[,");
  if (open == std::string::npos || node_list[open] == ',') return node_list.substr(0, open);
  const std::size_t close = node_list.find(']', open), end = node_list.find_first_of(",-]", open);
  if (close == std::string::npos)
    wrong("SLURM_STEP_NODELIST", "'" + node_list + "' has no end", "set MASTER_ADDR to the machine of rank 0");
  const std::string suffix = node_list.substr(close + 1, node_list.find(',', close) - close - 1);
  return node_list.substr(0, open) + node_list.substr(open + 1, end - open - 1) + suffix;
}

std::optional<int> tasks_on_node(const std::string& list, int node) {
  for (std::size_t at = 0; at < list.size();) {
    const std::size_t end = std::min(list.find(',', at), list.size());
    const std::string_view item = std::string_view(list).substr(at, end - at);
    const std::size_t times = item.find("(x");
    const auto tasks = base::number_in<int>(item.substr(0, times));
    const bool repeated = times != item.npos && item.ends_with(')');
    const auto nodes =
        repeated ? base::number_in<int>(item.substr(times + 2, item.size() - times - 3)) : std::optional<int>(1);
    if (!tasks || !nodes || (times != item.npos && !repeated)) return std::nullopt;
    if (node < *nodes) return tasks;
    node -= *nodes;
    at = end + 1;
  }
  return std::nullopt;
}

}  // namespace real
