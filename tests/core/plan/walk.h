// tests/core/plan/walk.h -- ways through a Plan that its tests share, and jobs at random.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <initializer_list>
#include <random>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/plan/build.h"
#include "core/plan/builder.h"
#include "core/plan/context.h"
#include "core/plan/shares.h"
#include "core/spec/layer_cuts.h"
#include "tests/support/toy.h"

namespace walk {

/// Works, names and channels that a test's own segment refers to.
struct Pen {
  plan::Plan plan;
  plan::Pool pool{plan};
  plan::SegmentBuilder out{pool, "test"};

  const plan::Work& work(const plan::Operator& op) const { return plan.works[op.work]; }
  const std::string& name(const plan::Operator& op) const { return plan.names[op.name]; }
};

/// Every operator of a role in issue order, call by call.
template <class Visit>  // (const plan::Call&, const plan::Operator&)
void operators(const plan::Plan& p, const plan::Role& role, Visit visit) {
  for (const plan::Call& call : role.calls) {
    for (const plan::Operator& op : p.segments[call.segment].operators) visit(call, op);
  }
}

inline double flops(const plan::Plan& p, const plan::Segment& segment, plan::Phase phase) {
  double sum = 0;
  for (const plan::Operator& op : segment.operators) {
    if (op.phase == phase) sum += plan::hardware_flops(p.works[op.work]);
  }
  return sum;
}

/// Of a whole step, all ranks.
inline double flops(const plan::Plan& p) {
  double sum = 0;
  for (const plan::Role& role : p.roles) {
    for (const plan::Call& call : role.calls) {
      for (const plan::Operator& op : p.segments[call.segment].operators) {
        sum += plan::hardware_flops(p.works[op.work]) * role.ranks;
      }
    }
  }
  return sum;
}

inline const plan::Collective* collective(const plan::Plan& p, const plan::Operator& op) {
  return std::get_if<plan::Collective>(&p.works[op.work]);
}

/// Bytes of the role's collectives in one step whose names hold `part`.
inline std::int64_t collective_bytes(const plan::Plan& p, const plan::Role& role, std::string_view part) {
  std::int64_t sum = 0;
  operators(p, role, [&](const plan::Call&, const plan::Operator& op) {
    const plan::Collective* work = collective(p, op);
    if (work && p.names[op.name].find(part) != std::string::npos) sum += work->bytes;
  });
  return sum;
}

inline int count(const plan::Plan& p, const plan::Role& role, std::string_view part) {
  int sum = 0;
  operators(p, role, [&](const plan::Call&, const plan::Operator& op) {
    if (p.names[op.name].find(part) != std::string::npos) ++sum;
  });
  return sum;
}

/// Of one rank of the role.
inline std::int64_t parameters(const spec::Job& j, const plan::Role& role) {
  const plan::Context c(j);
  std::int64_t sum = 0;
  const std::vector<std::vector<plan::Chunk>> stages = plan::chunks_of(c);
  for (const plan::Chunk& chunk : stages[role.stage]) sum += plan::chunk_parameters(c, chunk).total();
  return sum;
}

/// Which operators have ended when another starts, by streams and events alone: streams are FIFO, a wait means the
/// latest record issued before it, and behind a HostSync the host issues nothing before its operator has ended.
class HappensBefore {
 public:
  explicit HappensBefore(const plan::Plan& p) : plan_(p) {}

  /// The next operator in issue order. Returns its number. `unrecorded`: waits for events that nothing has recorded.
  int issue(const plan::Operator& op) {
    Clock known = host_;
    const int stream = static_cast<int>(op.stream);
    merge(known, ends_[stream]);
    for (const plan::EventId event : op.waits) {
      if (event < 0) continue;
      if (!recorded_[event]) unrecorded.push_back({static_cast<int>(starts_.size()), event});
      merge(known, events_[event]);
    }
    starts_.push_back(known);
    stream_.push_back(stream);
    place_.push_back(++issued_[stream]);
    known[stream] = issued_[stream];
    ends_[stream] = known;
    record(plan::event_of(op.stream), known);
    if (op.records >= 0) record(op.records, known);
    if (std::holds_alternative<plan::HostSync>(plan_.works[op.work])) merge(host_, known);
    return static_cast<int>(starts_.size()) - 1;
  }
  /// Whether operator `a` has ended when `b` starts.
  bool before(int a, int b) const { return starts_[b][stream_[a]] >= place_[a]; }

  struct Unrecorded {
    int at;
    plan::EventId event;
  };
  std::vector<Unrecorded> unrecorded;

 private:
  using Clock = std::array<int, plan::kStreams>;  // operators of each stream that have ended
  static void merge(Clock& into, const Clock& from) {
    for (int s = 0; s < plan::kStreams; ++s) into[s] = std::max(into[s], from[s]);
  }
  void record(plan::EventId event, const Clock& clock) {
    events_[event] = clock;
    recorded_[event] = true;
  }

  const plan::Plan& plan_;
  Clock host_{}, issued_{};
  std::array<Clock, plan::kStreams> ends_{};
  std::array<Clock, plan::kEvents> events_{};
  std::array<bool, plan::kEvents> recorded_{};
  std::vector<Clock> starts_;
  std::vector<int> stream_, place_;
};

/// Draws without the standard distributions, whose results differ between libraries.
class Dice {
 public:
  explicit Dice(std::uint32_t seed) : bits_(seed) {}
  int below(int n) { return static_cast<int>(bits_() % static_cast<std::uint32_t>(n)); }
  int from(int low, int high) { return low + below(high - low + 1); }
  bool coin() { return below(2) == 1; }
  template <class T>
  T of(std::initializer_list<T> choices) {
    return choices.begin()[below(static_cast<int>(choices.size()))];
  }

 private:
  std::mt19937 bits_;
};

inline std::string told(const spec::Job& j) {
  const spec::Strategy& s = j.strategy;
  return "tp " + std::to_string(s.tp) + " sp " + std::to_string(s.sp) + " pp " + std::to_string(s.pp) + " vpp " +
         std::to_string(s.vpp) + " dp " + std::to_string(s.data()) + " zero " + std::to_string(s.zero) +
         " microbatches " + std::to_string(spec::microbatches(j)) + " recompute " +
         std::to_string(static_cast<int>(s.recompute.kind)) + "/" + std::to_string(s.recompute.layers) +
         " overlap.tp " + std::to_string(static_cast<int>(*s.overlap.tp)) + " attention " +
         std::string(spec::name(*s.attention_kernel)) + " dropout " + std::to_string(j.training.dropout.value_or(0)) +
         " parallel " + std::to_string(j.model.parallel_block) + " embedding_in_split " +
         std::to_string(s.embedding_in_split);
}

/// Every choice that lowering looks at, drawn at random.
inline spec::Job random_job(Dice& dice) {
  using Kind = spec::Recompute::Kind;
  toy::Cut cut;
  cut.tp = dice.of({1, 2, 4});
  cut.sp = dice.coin();
  cut.pp = dice.of({1, 2, 3, 4});
  cut.vpp = cut.pp > 1 && dice.coin() ? dice.of({2, 3}) : 1;
  cut.dp = dice.of({1, 2, 3});
  cut.zero = dice.below(2);
  cut.micro_batch = dice.from(1, 2);
  cut.microbatches = cut.vpp > 1 ? cut.pp * dice.from(1, 3) : dice.from(1, 7);
  cut.schedule = dice.coin() ? spec::Schedule::gpipe : spec::Schedule::one_f_one_b;
  cut.recompute.kind = dice.of({Kind::none, Kind::selective, Kind::full});
  if (cut.recompute.kind == Kind::full) cut.recompute.layers = dice.below(3);
  cut.attention =
      dice.of({spec::AttentionKernel::unfused, spec::AttentionKernel::fused_softmax, spec::AttentionKernel::flash2});
  return toy::job(cut, [&](spec::Job& j) {
    spec::Model& m = j.model;
    spec::Strategy& s = j.strategy;
    const int chunks = s.pp * s.vpp;
    m.layers = chunks * dice.from(1, 3);
    if (chunks > 1 && dice.coin()) {
      s.embedding_in_split = true;
      m.layers -= dice.from(1, 2);
      if (m.layers < 1 || spec::split_layers(m, s).empty()) {
        s.embedding_in_split = false;
        m.layers = chunks;
      }
    }
    s.recompute.layers = std::min(s.recompute.layers, m.layers);
    m.kv_heads = dice.of({8, 4, 2, 1});
    m.gated_mlp = dice.coin();
    m.activation = m.gated_mlp ? spec::Activation::swiglu : spec::Activation::gelu;
    m.norm = dice.coin() ? spec::Norm::rmsnorm : spec::Norm::layernorm;
    m.position = dice.of({spec::Position::rope, spec::Position::learned, spec::Position::none});
    m.bias = dice.coin();
    m.tied_embeddings = dice.coin();
    m.embedding_norm = dice.coin();
    m.head_bias = dice.coin();
    m.parallel_block = dice.below(3) == 0;
    m.norms_in_parallel = dice.from(1, 2);
    m.post_norms = !m.parallel_block && dice.coin();
    m.qk_norm = dice.coin();
    m.attention_sinks = dice.coin();
    m.window = dice.of({0, 32});
    m.window_every = dice.from(1, 2);
    m.full_every = m.window_every == 1 ? dice.of({0, 2}) : 0;
    m.nope_every = dice.of({0, 2});
    m.causal = dice.coin();
    j.training.dropout = dice.coin() ? 0.1 : 0.0;
    j.training.gradient_dtype = dice.coin() ? spec::Dtype::fp32 : spec::Dtype::bf16;
    s.fused_kernels = {dice.coin(), dice.coin(), dice.coin(), dice.coin(), dice.coin(), dice.coin(), dice.coin(), {}};
    s.overlap.grad_reduce = dice.coin();
    s.overlap.param_gather = dice.coin();
    s.overlap.p2p = dice.coin();
    s.overlap.tp = dice.of(
        {spec::TpOverlap::none, spec::TpOverlap::wgrad, spec::TpOverlap::chunked, spec::TpOverlap::userbuffers});
    j.framework.gradient_bucket = base::Bytes(dice.of({0, 100'000, 1'000'000, 40'000'000}));
    j.framework.parameter_bucket = base::Bytes(dice.of({0, 100'000, 4'000'000, 40'000'000}));
    j.framework.bucket_ranks = dice.below(3);
    j.framework.whole_later_chunks = dice.coin();
    j.framework.scatter_gather_pipeline = dice.coin();
    j.framework.synchronizes_p2p = dice.coin();
    j.framework.fused_optimizer = dice.coin();
  });
}

}  // namespace walk
