// SPDX-License-Identifier: Apache-2.0
#include "core/plan/offload.h"

#include <algorithm>

#include "core/plan/states.h"
#include "core/plan/step_ends.h"

namespace plan {
namespace {

constexpr EventId kUpdated = kHopped + 2;  // and the next: tiles take turns

const spec::Offload& offload(const Context& c) { return c.strategy.offload; }

std::int64_t whole(base::ByteRate rate) { return static_cast<std::int64_t>(std::clamp(rate.si(), 1.0, 1e18)); }

std::int64_t state_bytes(const Context& c, std::int64_t owned) {
  return owned * optimizer_bytes(c) + optimizer_scales(c, owned);
}

bool in_tiles(const Context& c) { return c.job.framework.optimizer_tile.si() > 0; }

/// Beyond eight a finer cut changes nothing but the number of operators, unless buffers are that small.
std::int64_t tiles(const Context& c, std::int64_t owned) {
  constexpr std::int64_t usual = 8, most = 256;
  if (!in_tiles(c)) return 1;
  const double bytes = 4.0 * static_cast<double>(owned);
  const auto needed = static_cast<std::int64_t>(bytes / c.job.framework.optimizer_tile.si()) + 1;
  return std::clamp(needed, std::min(usual, std::max<std::int64_t>(1, owned)), most);
}

/// Gradient, weights and states of a tile on their way between drives and host.
std::int64_t travelling_bytes(const Context& c, std::int64_t parameters) {
  return state_bytes(c, parameters) + parameters * owned_gradient_element(c);
}

/// Whether what comes to the device now is behind the sums that earlier microbatches sent to the host: the first of a
/// pass waits for them, and the others follow it.
bool fetches_behind_copies(const SegmentBuilder& out) {
  return std::ranges::any_of(out.written(), [](const Operator& op) {
    return op.stream == Stream::to_device && std::ranges::count(op.waits, event_of(Stream::to_host)) > 0;
  });
}

}  // namespace

HostRates host_rates(const Context& c) {
  const spec::Node& node = c.job.cluster.node;
  const auto ranks = static_cast<double>(std::min<std::int64_t>(node.gpus, std::int64_t{c.axes.ranks} * c.pp));
  const base::ByteRate memory = node.host.bandwidth * (1 / ranks);
  return {whole(memory), whole(std::min(node.pcie.copies(), memory)), whole(memory * c.job.framework.cpu_optimizer),
          whole(node.nvme.read * (1 / ranks)), whole(node.nvme.write * (1 / ranks))};
}

std::int64_t staged_bytes(const Context& c, const Held& held) {
  if (!offload(c).fetches_parameters()) return 0;
  Held gathered = optimizer_share(c, held);
  Held frozen = held;
  if (c.axes[c.shard_axis].size == 1) gathered.dense = frozen.frozen_dense = 0;
  if (c.axes[c.expert_shard_axis].size == 1) gathered.experts = frozen.frozen_experts = 0;
  return gathered.total() * weight_element(c) + frozen_share(c, frozen);
}

void bring_shard(const Context& c, SegmentBuilder& out, const Held& held, bool behind_compute, EventId room) {
  if (!offload(c).fetches_parameters()) return;
  const HostRates rates = host_rates(c);
  const std::int64_t bytes = optimizer_share(c, held).total() * weight_element(c) + frozen_share(c, held);
  const bool drives = offload(c).parameters_on_drives();
  if (drives) out.beside_events(RatedCopy{bytes, rates.read}, "read parameters", Stream::storage, {room});
  out.beside_events(
      RatedCopy{bytes, rates.copy}, "parameters to device", Stream::to_device,
      {behind_compute ? event_of(Stream::compute) : EventId{-1}, drives ? event_of(Stream::storage) : EventId{-1}});
}

void gradients_to_host(const Context& c, SegmentBuilder& out, std::int64_t parameters) {
  if (!offload(c).updates_on_host() || parameters == 0) return;
  const HostRates rates = host_rates(c);
  const std::int64_t bytes = parameters * owned_gradient_element(c);
  const RatedCopy copy{bytes, rates.copy};
  const bool drives = offload(c).states_on_drives();
  const auto leave = [&](const char* name) {
    out.beside(copy, name, Stream::to_host, {Stream::compute, Stream::dp, Stream::replicate});
    if (drives) {
      out.beside(RatedCopy{bytes, rates.write}, "write gradients", Stream::storage, {Stream::to_host});
    }
  };
  if (!out.adds_gradients) {
    leave("gradients to host");
  } else if (in_tiles(c)) {
    if (drives) out.beside(RatedCopy{bytes, rates.read}, "read gradient sum", Stream::storage, {});
    const EventId left = fetches_behind_copies(out) ? EventId{-1} : event_of(Stream::to_host);
    out.beside_events(copy, "gradient sum to device", Stream::to_device, {drives ? event_of(Stream::storage) : left});
    out.beside(MemoryBound{MemoryBound::Kind::elementwise, 2 * bytes, bytes, 1}, "gradient sum", Stream::to_host,
               {Stream::compute, Stream::dp, Stream::replicate, Stream::to_device});
    leave("gradient sum to host");
  } else {  // the host waits for the copy, adds, and only then issues more
    leave("gradients to host");
    out.beside(RatedCopy{3 * bytes, rates.memory}, "gradient sum on host", Stream::cpu, {Stream::to_host});
    out.join(Stream::cpu);
    out.compute(HostSync{}, "gradient sum awaited", 0);
  }
  if (c.scatters_gradients && !c.overlap_grad_reduce) out.join(Stream::to_host);
}

void update_on_host(const Context& c, SegmentBuilder& out, std::int64_t owned) {
  const HostRates rates = host_rates(c);
  const bool drives = offload(c).states_on_drives();
  // A device that keeps masters whole has them beside the host's.
  const std::int64_t weight = c.autocast ? weight_element(c) : weight_beside_state(c);
  const std::int64_t gradient = owned_gradient_element(c);
  const std::int64_t count = tiles(c, owned);
  out.join(Stream::to_host);
  if (!in_tiles(c)) {
    out.beside(RatedCopy{owned * gradient, rates.memory}, "gradient norm on host", Stream::cpu,
               {Stream::compute, Stream::to_host});
    out.join(Stream::cpu);
  }
  out.compute(HostSync{}, "gradients awaited by the host", 0);
  reduce_gradient_norm(c, out);
  if (c.barrier) out.compute(HostSync{}, "gradient norm read by the host", 0);
  if (!in_tiles(c)) {
    out.beside(RatedCopy{2 * owned * gradient, rates.memory}, "clip gradients on host", Stream::cpu, {Stream::compute});
  }
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t tile = owned / count + (i < owned % count ? 1 : 0);
    const auto updated = static_cast<EventId>(kUpdated + i % 2), before = static_cast<EventId>(kUpdated + (i + 1) % 2);
    const std::int64_t previous = owned / count + (i - 1 < owned % count ? 1 : 0);
    const auto hand_back = [&](std::int64_t size, EventId event) {
      const bool kept_on_drives = offload(c).parameters_on_drives();
      const std::int64_t written = (drives ? state_bytes(c, size) : 0) + (kept_on_drives ? size * weight : 0);
      if (written > 0) out.beside_events(RatedCopy{written, rates.write}, "write states", Stream::storage, {event});
      if (offload(c).fetches_parameters() || weight == 0) return;
      out.beside_events(RatedCopy{size * weight, rates.copy}, "updated parameters to device", Stream::to_device,
                        {event});
    };
    if (drives) {
      out.beside(RatedCopy{travelling_bytes(c, tile), rates.read}, "read states", Stream::storage, {Stream::to_host});
    }
    // Gradients read (a tile is clipped here: read and written before), states read and written, weights of
    // the device written.
    const std::int64_t moved = (in_tiles(c) ? 3 : 1) * tile * gradient + 2 * state_bytes(c, tile) + tile * weight;
    out.beside_events(
        RatedCopy{moved, rates.update}, "optimizer on host", Stream::cpu,
        {event_of(Stream::compute), event_of(Stream::to_host), drives ? event_of(Stream::storage) : EventId{-1}});
    out.record(updated);
    if (i > 0) hand_back(previous, before);
    if (i + 1 == count) hand_back(tile, updated);
  }
}

void updated_to_host(const Context& c, SegmentBuilder& out, std::int64_t owned) {
  if (!offload(c).fetches_parameters()) return;
  const HostRates rates = host_rates(c);
  const std::int64_t bytes = owned * weight_element(c);
  out.beside(RatedCopy{bytes, rates.copy}, "updated parameters to host", Stream::to_host, {Stream::compute});
  if (!offload(c).parameters_on_drives()) return;
  out.beside(RatedCopy{bytes, rates.write}, "write parameters", Stream::storage, {Stream::to_host});
}

void await_updates(const Context& c, SegmentBuilder& out) {
  if (offload(c).updates_on_host()) {
    out.join(Stream::cpu);
    out.join(Stream::to_device);
  }
  if (offload(c).fetches_parameters()) out.join(Stream::to_host);
  if (offload(c).uses_nvme()) out.join(Stream::storage);
}

void hold_on_host(const Context& c, const Held& held, Role& role) {
  const std::int64_t share = optimizer_share(c, held).total();
  if (offload(c).updates_on_host()) {
    const std::int64_t masters = shards_masters(c) ? 4 * share : 0;  // counted as parameters
    const std::int64_t bytes = travelling_bytes(c, share) - masters;
    if (offload(c).states_on_drives()) {  // one tile is updated while another travels
      const std::int64_t count = tiles(c, share);
      role.nvme_bytes += bytes;
      role.host_bytes += 2 * travelling_bytes(c, (share + count - 1) / count);
    } else {
      role.host_bytes += bytes;
    }
  }
  if (!offload(c).fetches_parameters()) return;
  const std::int64_t bytes = share * weight_element(c) + frozen_share(c, held);
  if (offload(c).parameters_on_drives()) {  // two units: one is copied while another is read
    const std::int64_t layers = std::max(1, c.model.layers / c.pp);
    const std::int64_t unit = c.strategy.fsdp.unit > 0 ? std::min<std::int64_t>(c.strategy.fsdp.unit, layers) : layers;
    role.nvme_bytes += bytes;
    role.host_bytes += std::min(bytes, 2 * (bytes / layers * unit));
  } else {
    role.host_bytes += bytes;
  }
}

}  // namespace plan
