// SPDX-License-Identifier: Apache-2.0
#include "real/executor/task.h"

#include <fmt/format.h>

#include <stdexcept>

namespace real {
namespace {

const plan::Call& call_of(const RankState& rank, int call) { return rank.role().calls[call]; }

const plan::Operator& operator_of(const RankState& rank, int call, int at) {
  return rank.plan.segments[call_of(rank, call).segment].operators[at];
}

/// Without a flush microbatches are counted over all steps.
std::int32_t microbatch_of(const RankState& rank, const plan::Operator& op) {
  if (op.phase != plan::Phase::forward) return rank.stash.next_backward();
  return op.stream == plan::Stream::recv_prev ? rank.stash.next_received() : rank.stash.next_forward();
}

}  // namespace

std::int16_t layer_of(const RankState& rank, const plan::Operator& op) {
  if (op.module == 0) return op.layer;
  return op.layer < 0 ? ends_layer(op.module) : module_layer(rank.job.model, op.module);
}

Site site_of(const RankState& rank, const plan::Call& call, const plan::Operator& op) {
  const bool other = call.other >= 0 && op.phase != plan::Phase::forward;
  const std::int16_t layer = layer_of(rank, op);
  return other ? Site{call.other_chunk, call.other, layer} : Site{call.chunk, call.microbatch, layer};
}

/// A core that is computed again for its own backward leaves its result to the projection behind it. By operators, a
/// part of a layer's outputs is made again beside the rest.
bool made_again(const RankState& rank, const Site& site, std::string_view name, const Value& value) {
  using Kind = spec::Recompute::Kind;
  const Kind kind = rank.c.strategy.recompute.kind;
  if (kind == Kind::selective && name == "attention") return false;
  const bool halves = kind == Kind::selective_ops && rank.c.model.gated_mlp;
  if (halves && (name == "feed-forward up" || name == "shared expert up")) return false;
  const Issued by = value.accesses.written.by;
  if (by.call < 0) return false;
  const plan::Operator& op = rank.plan.segments[rank.role().calls[by.call].segment].operators[by.at];
  const std::int16_t layer = layer_of(rank, op);
  return layer == site.layer && op.phase == plan::Phase::forward && rank.remade.contains({layer, op.name});
}

std::string describe(const RankState& rank, Issued by) {
  if (by.call < 0) return fmt::format("rank {}, before the step", rank.place.rank());
  const plan::Call& call = call_of(rank, by.call);
  const plan::Operator& op = operator_of(rank, by.call, by.at);
  const Site site = site_of(rank, call, op);
  std::string out = fmt::format("rank {}, '{}' on stream {}", rank.place.rank(), rank.plan.names[op.name],
                                plan::kStreamNames[static_cast<int>(op.stream)]);
  if (op.layer >= 0) out += fmt::format(" of layer {}", site.layer);
  if (op.layer < 0 && op.module > 0) out += fmt::format(" of multi-token module {}", op.module);
  if (site.microbatch >= 0) out += fmt::format(", microbatch {}", site.microbatch);
  return out +
         fmt::format(", {} (call {}, operator {})", plan::kPhaseNames[static_cast<int>(op.phase)], by.call, by.at);
}

Task::Task(RankState& r, int call_number, int at)
    : rank(r),
      c(r.c),
      backend(r.backend),
      call(call_of(r, call_number)),
      op(operator_of(r, call_number, at)),
      name(r.plan.names[op.name]),
      site(site_of(r, call, op)) {
  if (!r.has_flush() && site.microbatch >= 0) site.microbatch = microbatch_of(r, op);
}

Value& Task::value_at(const Site& where, std::string_view name) {
  Value* value = rank.values.find(where, name);
  if (value != nullptr && *value) return *value;
  throw std::logic_error(
      fmt::format("{} needs '{}', which no operator before it has made", describe(rank, rank.order.now().by), name));
}

Tensor Task::read(Value& value, std::string_view what) {
  if (!value)
    throw std::logic_error(fmt::format("{} reads '{}', which has left", describe(rank, rank.order.now().by), what));
  rank.order.read(value.accesses, std::string(what), [&](Issued by) { return describe(rank, by); });
  return value.tensor;
}

Tensor Task::write(Value& value, std::string_view what) {
  rank.order.write(value.accesses, std::string(what), [&](Issued by) { return describe(rank, by); });
  return value.tensor;
}

void Task::leave(std::string_view name, const Tensor& tensor) {
  Value& value = rank.values.at(site, name);
  value.tensor = tensor;
  value.accesses = {rank.order.now(), {}};
}

Tensor Task::renew(Value& value, std::int64_t count, Purpose purpose) {
  value.tensor = backend.allocate(count, purpose);
  value.accesses = {rank.order.now(), {}};
  return value.tensor;
}

Tensor Task::read_at(const Site& where, std::string_view name) { return read(value_at(where, name), name); }

Tensor Task::make_at(const Site& where, std::string_view name, std::int64_t count, Purpose purpose) {
  return renew(rank.values.at(where, name), count, purpose);
}

Parameter* Task::find_parameter(std::string_view name) {
  if (op.module == 0) return rank.parameters.find(op.layer, name);
  Parameter* own = rank.parameters.find(module_layer(rank.job.model, op.module), name);
  return own != nullptr ? own : rank.parameters.find(-1, name);
}

Parameter& Task::parameter(std::string_view name) {
  if (Parameter* found = find_parameter(name)) return *found;
  throw std::logic_error(fmt::format("layer {} has no parameter '{}'", site.layer, name));
}

Tensor Task::weight(std::string_view name) {
  Parameter* found = find_parameter(name);
  if (found == nullptr) return {};
  if (!found->weight) {
    if (found->kept != Kept::wide) return {};  // its codes are read
    throw std::logic_error(
        fmt::format("{} reads {}, which is not gathered", describe(rank, rank.order.now().by), name));
  }
  const bool earlier = !rank.has_flush() && !forward();
  return read(earlier ? rank.stash.of_backward(*found) : found->weight, name);
}

Tensor Task::gradient(std::string_view name) {
  Parameter* found = find_parameter(name);
  return found == nullptr ? Tensor{} : gradient(*found);
}

Tensor Task::gradient(Parameter& p) {
  if (p.frozen) return backend.allocate(p.count(), kGradient);
  if (p.gradient) return write(p.gradient, p.name);
  const Tensor fresh = renew(p.gradient, p.count(), kGradient);
  backend.fill(fresh, 0);
  return fresh;
}

std::int64_t& Task::covered(const char* what) {
  return rank.covered[{site, fmt::format("{}/{}/{}", name, static_cast<int>(op.phase), what)}];
}

std::int64_t Task::next_piece(std::int64_t length, std::int64_t whole) {
  std::int64_t& done = covered("pieces");
  const std::int64_t begin = done;
  done = begin + length >= whole ? 0 : begin + length;
  if (begin + length > whole) throw std::logic_error(fmt::format("'{}' covers more than there is", name));
  return begin;
}

std::int64_t Task::this_block() { return covered("blocks"); }

std::int64_t Task::next_block(std::int64_t count) {
  std::int64_t& done = covered("blocks");
  const std::int64_t number = done;
  done = (number + 1) % count;
  return number;
}

}  // namespace real
