// real/executor/task.h -- an operator of the Plan as its action sees it: which work on which microbatch, the tensors it
// reads and writes. Every access is checked against the order that the Plan's events establish.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "real/executor/rank_state.h"

namespace real {

/// Modules of multi-token prediction count from 1; their ends have sites below the model's own.
constexpr std::int16_t ends_layer(int module) { return static_cast<std::int16_t>(-1 - module); }

class Task {
 public:
  /// `call`: of the rank's role; `at`: in the call's segment. An operator of a merged pass's backward belongs to the
  /// microbatch that goes backward.
  Task(RankState& rank, int call, int at);

  RankState& rank;
  const plan::Context& c;
  Backend& backend;
  const plan::Call& call;
  const plan::Operator& op;
  const std::string& name;
  Site site;

  template <class Work>
  const Work& work() const {
    return std::get<Work>(rank.plan.works[op.work]);
  }
  bool forward() const { return op.phase == plan::Phase::forward; }
  bool again() const { return op.phase == plan::Phase::recompute; }

  // Tensors of this microbatch: of the operator's layer.
  bool has(std::string_view name) const { return rank.values.find(site, name) != nullptr; }
  Tensor read(std::string_view name) { return read_at(site, name); }
  /// Fresh, and known by this name from now on.
  Tensor make(std::string_view name, std::int64_t count, Purpose purpose = kActivation) {
    return make_at(site, name, count, purpose);
  }
  /// A tensor that this operator has just written is known by this name from now on.
  void leave(std::string_view name, const Tensor&);
  /// Over what it holds.
  Tensor update(std::string_view name) { return write(value_at(site, name), name); }
  /// Known by another name, too; whoever wrote it.
  void alias(std::string_view name, std::string_view known) { rank.values.at(site, name) = value_at(site, known); }
  void erase(std::string_view name) { rank.values.erase(site, name); }

  // What flows from layer to layer: activations, and on the way back their gradient. A layer that is computed again
  // has a stream of its own, which begins with the input that it kept.
  Tensor stream() { return read_at(stream_site(), stream_name()); }
  Tensor make_stream(std::int64_t count) { return make_at(made_stream_site(), made_stream_name(), count); }
  /// `name`, of this layer, is the stream as it is now.
  void keep_stream(std::string_view name) { rank.values.at(site, name) = value_at(stream_site(), stream_name()); }
  /// The stream is now the tensor `name` of this layer.
  void flow(std::string_view name) { rank.values.at(made_stream_site(), made_stream_name()) = value_at(site, name); }
  Tensor gradient_stream() { return read_at(ends(), "gradient stream"); }
  Tensor make_gradient_stream(std::int64_t count) { return make_at(ends(), "gradient stream", count); }
  void keep_gradient_stream(std::string_view name) { rank.values.at(site, name) = value_at(ends(), "gradient stream"); }
  void flow_gradient(std::string_view name) { rank.values.at(ends(), "gradient stream") = value_at(site, name); }

  // Parameters.
  /// Of a module of multi-token prediction, or what it shares with the model's ends.
  Parameter* find_parameter(std::string_view name);
  Parameter& parameter(std::string_view name);
  /// Its values; nothing where the model has none of this name.
  Tensor weight(std::string_view name);
  /// To be added to; zeros where no operator has added yet. What is frozen lets go what is added.
  Tensor gradient(std::string_view name);
  Tensor gradient(Parameter&);

  // Any value.
  Tensor read(Value& value, std::string_view what);
  Tensor write(Value& value, std::string_view what);  // over what is there
  /// Fresh; readers of what was there keep it.
  Tensor renew(Value& value, std::int64_t count, Purpose purpose);
  /// A tensor that this operator has just written is now the value.
  void set(Value& value, const Tensor& tensor) { value = {tensor, {rank.order.now(), {}}}; }

  // Work that is done piece by piece by operators of one name.
  /// Where the next piece of `length` begins; back at 0 when all `whole` are covered.
  std::int64_t next_piece(std::int64_t length, std::int64_t whole);

  /// The number of the block of tokens that the operator works on, of `count`; next_block() is its last operator's.
  std::int64_t this_block();
  std::int64_t next_block(std::int64_t count);

  Group group() const { return rank.place.group(op.channel); }
  /// Where what flows between layers is: of the model, or of the module that the operator belongs to.
  Site ends() const { return {site.chunk, site.microbatch, ends_layer(op.module)}; }
  Tensor read_at(const Site& where, std::string_view name);
  Tensor make_at(const Site& where, std::string_view name, std::int64_t count, Purpose purpose = kActivation);

 private:
  std::int64_t& covered(const char* what);
  Value& value_at(const Site& where, std::string_view name);
  bool streams_apart() const { return again(); }
  Site stream_site() const { return streams_apart() ? site : ends(); }
  std::string_view stream_name() const {
    if (!streams_apart()) return "stream";
    return has("stream again") ? "stream again" : "input";
  }
  Site made_stream_site() const { return stream_site(); }
  std::string_view made_stream_name() const { return streams_apart() ? "stream again" : "stream"; }
};

/// The layer whose tensors an operator's are: a module's block is one more, behind those of the model; below 0: an end.
std::int16_t layer_of(const RankState&, const plan::Operator&);

/// The microbatch, chunk and layer that an operator belongs to.
Site site_of(const RankState&, const plan::Call&, const plan::Operator&);

/// Whether the backward makes this value of a forward again, so that it need not be kept.
bool made_again(const RankState&, const Site&, std::string_view name, const Value&);

/// "rank 1, 'qkv' of layer 3, microbatch 0, forward" -- who an operator is, in messages.
std::string describe(const RankState&, Issued);

}  // namespace real
