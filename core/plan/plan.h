// core/plan/plan.h -- a step as a CUDA program has it: for each role, operators in issue order on streams, with events
// between them. Knows no speeds. The simulator and the GPUs run the same Plan.
//
// A program is a list of calls of segments. A segment (one chunk's forward, say) is written once and called for every
// microbatch, so a Plan's size grows with roles and chunks, never with microbatches or GPUs.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/plan/axes.h"
#include "core/plan/schedule/pass.h"
#include "core/plan/work.h"

namespace plan {

/// `dp` reduces gradients, `gather` brings parameters, or (no job does both)
/// what the shares of a vocabulary read; `replicate` sums shards over replicas (HSDP); `to_device` and
/// `to_host` are copies over PCIe, `storage` reads and writes files, `cpu` computes on the host; `vocabulary` joins
/// the shares of embedding and head that the stages hold (vocabulary.h).
enum class Stream : std::uint8_t {
  compute,
  tp,
  cp,
  ep,
  dp,
  gather,
  replicate,
  send_next,
  recv_prev,
  send_prev,
  recv_next,
  to_device,
  to_host,
  storage,
  cpu,
  vocabulary
};
inline constexpr int kStreams = 16;
inline constexpr std::array<std::string_view, kStreams> kStreamNames{
    "compute",   "tp",        "cp",        "ep",        "dp",      "gather",  "replicate", "send next",
    "recv prev", "send prev", "recv next", "to device", "to host", "storage", "cpu",       "vocabulary"};

enum class Phase : std::uint8_t { forward, recompute, backward, optimizer };
inline constexpr int kPhases = 4;
inline constexpr std::array<std::string_view, kPhases> kPhaseNames{"forward", "recompute", "backward", "optimizer"};

/// What a buffer holds; the ledger reports peaks by these.
enum class Category : std::uint8_t {
  parameters,
  gradients,
  optimizer,
  activations,
  logits,
  workspace,
  communication,
  kv_cache
};
inline constexpr int kCategories = 8;
inline constexpr std::array<std::string_view, kCategories> kCategoryNames{
    "parameters", "gradients", "optimizer", "activations", "logits", "workspace", "communication", "kv_cache"};

/// Who meets in a communication operator. The n-th call of one member meets the n-th of every other, as in NCCL.
struct Channel {
  enum class Kind : std::uint8_t { group, forward_edge, backward_edge, embedding, model, copies, stages };
  Kind kind = Kind::group;
  Axis axis = Axis::tp;    // group: ranks of the same stage along this axis
  int from = -1, to = -1;  // edges: pipeline stages; embedding: first and last stage; copies: of a chunk
                           // stages: the ranks of every stage at the same place of theirs; two of them by `axis`
                           // group: from is kSecond for a communicator beside the usual one
};
/// Calls of one channel meet in the order in which they arrive, so that operators of two streams that do not wait for
/// one another need two channels.
inline constexpr int kSecond = 0;

/// An event of a role, as CUDA has them: recording again replaces, waiting takes the latest record issued before the
/// wait. Every operator records the event that carries its stream's number; further numbers are free for a plan's own
/// use.
using EventId = std::int8_t;
inline constexpr int kEvents = 48;
inline constexpr int kMaxWaits = 4;
constexpr EventId event_of(Stream s) { return static_cast<EventId>(s); }
// Pairs of events that take turns: a layer's input is whole again, whatever is issued behind it; a ring hop of context
// parallel has arrived. Units of parameters (units.h) have the last ones.
inline constexpr EventId kGathered = kStreams, kHopped = kStreams + 2;

struct Operator {
  std::int32_t work = 0;  // index into Plan::works
  std::int32_t name = 0;  // index into Plan::names
  Stream stream = Stream::compute;
  Phase phase = Phase::forward;
  std::int16_t layer = -1;     // of the model; -1: none
  std::int16_t channel = -1;   // index into Plan::channels; -1: no communication
  std::uint16_t launches = 1;  // kernels the host issues for it
  std::array<EventId, kMaxWaits> waits{-1, -1, -1, -1};
  EventId records = -1;       // besides its stream's own event
  std::int8_t module = 0;     // of multi-token prediction, from 1; 0: of the model itself
  std::uint16_t padding = 0;  // elements of a data-parallel collective that only make its shares equal
};

/// A change of memory before (allocation) or after (release) an operator, in the order in which the host issues them,
/// as a caching allocator sees it.
struct MemoryChange {
  std::int32_t at = 0;  // operator index in the segment
  bool after = false;
  Category category = Category::activations;
  std::int64_t bytes = 0;  // negative: released
  bool apart = false;      // in a pool that nothing else may use
};

struct Segment {
  std::string name;  // "forward", "backward last", "optimizer"
  std::vector<Operator> operators;
  std::vector<MemoryChange> memory;  // ordered by (at, after)
  std::int64_t host_bytes = 0;       // activations that it leaves in the host's memory; negative: takes from there
};

struct Call {
  std::int32_t segment = 0;
  std::int32_t microbatch = -1;
  std::int16_t chunk = -1;
  Pass pass = Pass::forward;      // of no meaning where there is no microbatch
  std::int32_t other = -1;        // of an overlapped pass: the microbatch that goes backward
  std::int16_t other_chunk = -1;  // and through which chunk
};

/// The work of one pipeline stage; every rank of it runs this program.
struct Role {
  int stage = 0;
  int first_rank = 0;  // the rank shown for it
  int ranks = 1;       // ranks that it stands for
  std::vector<Call> calls;
  std::array<std::int64_t, kCategories> resident{};  // bytes held through the whole step
  std::int64_t host_bytes = 0, nvme_bytes = 0;       // of one rank on its node, likewise (offload.h)
};

struct Plan {
  std::vector<Work> works;
  std::vector<std::string> names;
  std::vector<Channel> channels;
  std::vector<Segment> segments;
  std::vector<Role> roles;
  int tp = 1, cp = 1, dp = 1, pp = 1;
  Axes axes;                        // of the ranks of one stage
  bool rolling = false;             // a stage begins its next step as soon as it has ended this one
  bool stages_over_fabric = false;  // some rank of a stage reaches the next stage over the fabric
  double model_flops = 0;           // of one step, all ranks (plan/flops.h)
  double hardware_flops = 0;        // the same with what is computed again
  double tokens = 0;                // of one step
  int waiting = 1;                  // GPUs that wait for one another, directly or not, within a step
  std::int64_t operators() const;   // issued in one step by all roles
};

}  // namespace plan
