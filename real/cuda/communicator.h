// real/cuda/communicator.h -- NCCL communicators: one id for the world, every group split from it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nccl.h>

#include <optional>
#include <utility>

#include "real/launch/world.h"

namespace real {

/// Throws base::DeviceError with NCCL's own last words unless `status` is success.
void check(ncclResult_t status, const char* call);

class Communicator {
 public:
  /// All ranks of `world`, each with the device that is current for its thread. Blocks until all have come. Once a run.
  /// `world` outlives it and what is split from it: each call of NCCL that waits for others has a limit of its own.
  explicit Communicator(const World& world);
  Communicator(Communicator&& other) noexcept : world_(other.world_), comm_(std::exchange(other.comm_, nullptr)) {}
  Communicator& operator=(Communicator&& other) noexcept {
    std::swap(world_, other.world_);
    std::swap(comm_, other.comm_);
    return *this;
  }
  /// Frees without waiting for others when one of them was lost, or what went wrong here unwinds the stack: NCCL would
  /// wait for ever.
  ~Communicator();

  /// The group of ranks that give the same `color`, ordered by `key`; none for those that give no color. Every rank of
  /// this communicator calls it, in the same order.
  std::optional<Communicator> split(std::optional<int> color, int key) const;

  ncclComm_t get() const { return comm_; }
  int rank() const;
  int size() const;
  /// Ends what is enqueued, on this rank alone: it would wait for a rank that is gone. Good for nothing afterwards.
  void abort();
  /// Throws if an operation that was enqueued has failed since.
  void check_async() const;

 private:
  Communicator(const World* world, ncclComm_t comm) : world_(world), comm_(comm) {}
  const World* world_;
  ncclComm_t comm_ = nullptr;
};

/// Ranks that share a card are refused by NCCL ("Duplicate GPU detected") unless they pose as machines of their own, by
/// an NCCL_HOSTID each. When `uuid`, exchanged by all ranks, shows that some do share one, this sets it and returns
/// true: such a run works over sockets, and its times mean nothing. To be called before the first Communicator. Devices
/// are not counted, since a launcher may show each rank only its own.
bool pose_as_machines_if_cards_are_shared(const World& world, const std::string& uuid);

}  // namespace real
