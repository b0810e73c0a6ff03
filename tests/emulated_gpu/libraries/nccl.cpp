// tests/emulated_gpu/libraries/nccl.cpp -- NCCL between threads of this process, or processes, a GPU each. Calls of one
// communicator run one behind the other in the order in which they were made, whatever their streams.
// SPDX-License-Identifier: Apache-2.0
#include <nccl.h>

#include <mutex>
#include <utility>
#include <vector>

#include "tests/emulated_gpu/block.h"
#include "tests/emulated_gpu/call.h"
#include "tests/emulated_gpu/capture.h"
#include "tests/emulated_gpu/libraries/group.h"

namespace emulated_gpu {
namespace {

thread_local int depth = 0;  // of ncclGroupStart()
thread_local std::vector<Call> grouped;
thread_local std::shared_ptr<Member> grouped_of;
thread_local cudaStream_t grouped_on = nullptr;

ncclResult_t status_of(cudaError_t status) { return status == cudaSuccess ? ncclSuccess : ncclUnhandledCudaError; }

/// The first message of one rank to another keeps the host until both have called: NCCL connects the two.
void connect(Member& member, const std::vector<Call>& calls) {
  std::vector<Meeting::Side> first;
  for (const Call& c : calls) {
    if ((c.kind != Kind::send && c.kind != Kind::receive) || c.peer == member.rank) continue;
    const Meeting::Side side =
        c.kind == Kind::send ? Meeting::Side{member.rank, c.peer, c.kind} : Meeting::Side{c.peer, member.rank, c.kind};
    if (!member.called.insert(side).second) continue;
    member.meeting->call_first(side);
    first.push_back(side);
  }
  for (const Meeting::Side& side : first) {
    member.device->until([&] { return member.aborted || member.meeting->has_called(side.other()); });
  }
}

ncclResult_t give(std::shared_ptr<Member> member, std::vector<Call> calls, cudaStream_t stream) {
  return status_of(call([&] {
    if (&Device::current() != member->device) throw Fault("a communicator of another GPU");
    connect(*member, calls);
    CUstream_st* const on = stream_of(stream);
    if (on->capture) on->capture->holds.push_back(member->captured);
    member->device->give(on, group_of(member, calls));
  }));
}

}  // namespace
}  // namespace emulated_gpu

using namespace emulated_gpu;

struct ncclComm {
  std::shared_ptr<Member> member;
};

namespace {

/// A collective of no elements is nothing. A message of none wants its other side all the same, as in NCCL, which sets
/// up how the two exchange.
ncclResult_t add(const Call& call, ncclComm_t comm, cudaStream_t stream) {
  const bool message = call.kind == Kind::send || call.kind == Kind::receive;
  if (call.count == 0 && !message) return ncclSuccess;
  if (depth == 0) return give(comm->member, {call}, stream);
  if (!grouped.empty() && (grouped_of != comm->member || grouped_on != stream)) return ncclInvalidUsage;
  grouped_of = comm->member;
  grouped_on = stream;
  grouped.push_back(call);
  return ncclSuccess;
}

}  // namespace

ncclResult_t ncclGroupStart() {
  ++depth;
  return ncclSuccess;
}
ncclResult_t ncclGroupEnd() {
  if (--depth > 0 || grouped.empty()) return ncclSuccess;
  const std::shared_ptr<Member> member = std::exchange(grouped_of, nullptr);
  return give(member, std::exchange(grouped, {}), grouped_on);
}

ncclResult_t ncclAllReduce(const void* from, void* to, size_t count, ncclDataType_t type, ncclRedOp_t sum,
                           ncclComm_t comm, cudaStream_t stream) {
  return add({Kind::all_reduce, from, to, count, type, sum}, comm, stream);
}
ncclResult_t ncclBroadcast(const void* from, void* to, size_t count, ncclDataType_t type, int root, ncclComm_t comm,
                           cudaStream_t stream) {
  return add({Kind::broadcast, from, to, count, type, ncclSum, root}, comm, stream);
}
ncclResult_t ncclReduce(const void* from, void* to, size_t count, ncclDataType_t type, ncclRedOp_t sum, int root,
                        ncclComm_t comm, cudaStream_t stream) {
  return add({Kind::reduce, from, to, count, type, sum, root}, comm, stream);
}
ncclResult_t ncclAllGather(const void* from, void* to, size_t count, ncclDataType_t type, ncclComm_t comm,
                           cudaStream_t stream) {
  return add({Kind::all_gather, from, to, count, type}, comm, stream);
}
ncclResult_t ncclReduceScatter(const void* from, void* to, size_t count, ncclDataType_t type, ncclRedOp_t sum,
                               ncclComm_t comm, cudaStream_t stream) {
  return add({Kind::reduce_scatter, from, to, count, type, sum}, comm, stream);
}
ncclResult_t ncclSend(const void* from, size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                      cudaStream_t stream) {
  return add({Kind::send, from, nullptr, count, type, ncclSum, peer}, comm, stream);
}
ncclResult_t ncclRecv(void* to, size_t count, ncclDataType_t type, int peer, ncclComm_t comm, cudaStream_t stream) {
  return add({Kind::receive, nullptr, to, count, type, ncclSum, peer}, comm, stream);
}

// Communicators.

namespace {

ncclComm_t comm_of(std::shared_ptr<Meeting> meeting, int rank) {
  const auto member = std::make_shared<Member>();
  member->meeting = std::move(meeting);
  member->rank = rank;
  member->device = &Device::current();
  return new ncclComm{member};
}

}  // namespace

ncclResult_t ncclGetUniqueId(ncclUniqueId* id) {
  make_id(*id);
  return ncclSuccess;
}

ncclResult_t ncclCommInitRank(ncclComm_t* comm, int ranks, ncclUniqueId id, int rank) {
  return status_of(call([&] {
    const std::shared_ptr<Meeting> world = world_of(id, ranks);
    world->join(rank);
    *comm = comm_of(world, rank);
  }));
}
ncclResult_t ncclCommSplit(ncclComm_t comm, int color, int key, ncclComm_t* part, ncclConfig_t*) {
  Member& member = *comm->member;
  return status_of(call([&] {
    const Meeting::Split joined = member.meeting->split(member.rank, ++member.splits, color, key);
    *part = joined.meeting ? comm_of(joined.meeting, joined.rank) : nullptr;
  }));
}
ncclResult_t ncclCommDestroy(ncclComm_t comm) {
  const std::shared_ptr<Member> member = comm->member;
  delete comm;
  return status_of(call([&] {
    member->device->until([&] { return member->done == member->given; });
    member->meeting->leave(member->rank);
  }));
}
/// Ends what runs, and waits until no graph holds the communicator's calls. Several threads abort communicators of one
/// GPU.
ncclResult_t ncclCommAbort(ncclComm_t comm) {
  static std::mutex guard;
  const std::shared_ptr<Member> member = comm->member;
  member->aborted = true;
  delete comm;
  const std::lock_guard lock(guard);
  return status_of(call([&] { member->device->until([&] { return member->captured.use_count() == 1; }); }));
}
ncclResult_t ncclCommGetAsyncError(ncclComm_t, ncclResult_t* state) {
  *state = Device::current().failure().empty() ? ncclSuccess : ncclUnhandledCudaError;
  return ncclSuccess;
}
ncclResult_t ncclCommUserRank(const ncclComm_t comm, int* rank) {
  *rank = comm->member->rank;
  return ncclSuccess;
}
ncclResult_t ncclCommCount(const ncclComm_t comm, int* count) {
  *count = comm->member->meeting->ranks();
  return ncclSuccess;
}
const char* ncclGetErrorString(ncclResult_t result) {
  return result == ncclUnhandledCudaError ? "the GPU has failed" : "the emulated NCCL refuses this";
}
const char* ncclGetLastError(ncclComm_t) { return Device::current().failure().c_str(); }
