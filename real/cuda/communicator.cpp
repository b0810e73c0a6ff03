// SPDX-License-Identifier: Apache-2.0
#include "real/cuda/communicator.h"

#include <fmt/format.h>

#include <cstdlib>
#include <cstring>
#include <exception>
#include <set>
#include <string>

#include "core/base/fault.h"

namespace real {

void check(ncclResult_t status, const char* call) {
  if (status == ncclSuccess) return;
  const std::string last = ncclGetLastError(nullptr);
  throw base::DeviceError(fmt::format("{}: {}{}{}", call, ncclGetErrorString(status), last.empty() ? "" : ": ", last));
}

Communicator::Communicator(const World& world) : world_(&world) {
  ncclUniqueId id{};
  if (world.identity.rank == 0) {
    check(ncclGetUniqueId(&id), "ncclGetUniqueId");
    world.store->set("nccl-id", std::string(id.internal, sizeof id.internal));
  }
  const std::string bytes = world.store->get("nccl-id", world.patience.join);
  std::memcpy(id.internal, bytes.data(), sizeof id.internal);
  const HostCall::Scope held(*world.call, "ncclCommInitRank", world.patience.join);
  check(ncclCommInitRank(&comm_, world.identity.world, id, world.identity.rank), "ncclCommInitRank");
}

Communicator::~Communicator() {
  if (!comm_) return;
  ncclResult_t state = ncclSuccess;
  const bool failing = std::uncaught_exceptions() > 0;  // the others may know of nothing yet
  const bool sound = !failing && ncclCommGetAsyncError(comm_, &state) == ncclSuccess && state == ncclSuccess;
  const HostCall::Scope held(*world_->call, sound ? "ncclCommDestroy" : "ncclCommAbort", world_->patience.finish);
  sound ? ncclCommDestroy(comm_) : ncclCommAbort(comm_);
}

void Communicator::abort() {
  if (ncclComm_t comm = std::exchange(comm_, nullptr)) ncclCommAbort(comm);
}

std::optional<Communicator> Communicator::split(std::optional<int> color, int key) const {
  ncclComm_t part = nullptr;
  const HostCall::Scope held(*world_->call, "ncclCommSplit", world_->patience.join);
  check(ncclCommSplit(comm_, color.value_or(NCCL_SPLIT_NOCOLOR), key, &part, nullptr), "ncclCommSplit");
  if (!part) return std::nullopt;
  return Communicator(world_, part);
}

int Communicator::rank() const {
  int out = 0;
  check(ncclCommUserRank(comm_, &out), "ncclCommUserRank");
  return out;
}

int Communicator::size() const {
  int out = 0;
  check(ncclCommCount(comm_, &out), "ncclCommCount");
  return out;
}

void Communicator::check_async() const {
  ncclResult_t state = ncclSuccess;
  check(ncclCommGetAsyncError(comm_, &state), "ncclCommGetAsyncError");
  check(state, "an operation of NCCL");
}

bool pose_as_machines_if_cards_are_shared(const World& world, const std::string& uuid) {
  const auto cards = world.store->gather("card", uuid, world.patience.join);
  const bool shared = std::set(cards.begin(), cards.end()).size() < cards.size();
  if (shared) setenv("NCCL_HOSTID", fmt::format("forerun-rank-{}", world.identity.rank).c_str(), 1);
  return shared;
}

}  // namespace real
